package release

import (
	"os"
	"path"
	"regexp"
	"strings"
)

// Kind is the way in which a program was installed.
type Kind string

// The kinds.
const (
	Archive Kind = "archive"
	Deb     Kind = "deb"
	RPM     Kind = "rpm"
	App     Kind = "app" // a macOS app, installed by hand
	Brew    Kind = "brew"
	Scoop   Kind = "scoop"
	Winget  Kind = "winget"
)

// KindOf determines from its path how the program was installed. exists reports whether a file
// exists.
func KindOf(system, exe string, exists func(string) bool) Kind {
	p := strings.ToLower(strings.ReplaceAll(exe, `\`, "/"))
	has := func(s string) bool { return strings.Contains(p, s) }
	switch {
	case has("/caskroom/") || has("/cellar/"):
		return Brew
	case system == "windows" && has("/scoop/apps/"):
		return Scoop
	case system == "windows" && has("/winget/"):
		return Winget
	case system == "darwin" && has(".app/contents/"):
		if exists("/opt/homebrew/Caskroom/hob") || exists("/usr/local/Caskroom/hob") {
			return Brew
		}
		return App
	case system == "linux" && p == "/usr/bin/hob" && exists("/var/lib/dpkg/info/hob.list"):
		return Deb
	case system == "linux" && p == "/usr/bin/hob" && (exists("/usr/lib/sysimage/rpm") || exists("/var/lib/rpm")):
		return RPM
	}
	return Archive
}

// Exists reports whether a file or folder exists at a path.
func Exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// updateSteps returns the instructions for an update without `hob update`.
func updateSteps(k Kind, system string, f File) []string {
	switch k {
	case Brew:
		return []string{"brew upgrade --cask hob"}
	case Scoop:
		return []string{"hob stop", "scoop update hob"}
	case Winget:
		return []string{"hob stop", "winget upgrade --id Hob.Hob"}
	case Archive, Deb, RPM, App:
	}
	// commands contain only a plain file name, regardless of the manifest
	name := regexp.MustCompile(`[^A-Za-z0-9._-]`).ReplaceAllString(path.Base(f.URL), "_")
	check := "sha256sum " + name
	switch system {
	case "darwin":
		check = "shasum -a 256 " + name
	case "windows":
		check = "certutil -hashfile " + name + " SHA256"
	}
	out := []string{"download " + f.URL, check + "   (must be " + f.SHA256 + ")"}
	switch f.Kind {
	case string(Deb):
		return append(out, "sudo apt install ./"+name, "hob stop && hob start")
	case string(RPM):
		return append(out, "sudo dnf install ./"+name, "hob stop && hob start")
	}
	return append(out, "hob stop", "unpack it and replace this program with it", "hob start")
}
