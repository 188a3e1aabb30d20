package browser

import (
	"fmt"
	"path/filepath"
)

// Found is an installed browser.
type Found struct {
	Name string // display name, such as "Google Chrome"
	Path string
}

// candidate is a possible location of a browser: a program name to find in PATH, or an absolute
// path.
type candidate struct{ name, place string }

// browserCandidates lists the possible locations of browsers on a system, the most common first. It
// reads only environment variables that contain folders.
func browserCandidates(goos, home string, getenv func(string) string) []candidate {
	switch goos {
	case "darwin":
		var out []candidate
		for _, root := range []string{"/Applications", filepath.Join(home, "Applications")} {
			for _, n := range []string{"Google Chrome", "Chromium", "Microsoft Edge", "Brave Browser"} {
				out = append(out, candidate{n, root + "/" + n + ".app/Contents/MacOS/" + n})
			}
		}
		return out
	case "windows":
		var out []candidate
		for _, c := range []candidate{
			{"Google Chrome", `Google\Chrome\Application\chrome.exe`},
			{"Chromium", `Chromium\Application\chrome.exe`},
			{"Microsoft Edge", `Microsoft\Edge\Application\msedge.exe`},
			{"Brave", `BraveSoftware\Brave-Browser\Application\brave.exe`},
		} {
			for _, v := range []string{"ProgramFiles", "ProgramFiles(x86)", "LOCALAPPDATA"} {
				if root := getenv(v); root != "" {
					out = append(out, candidate{c.name, root + `\` + c.place})
				}
			}
		}
		return out
	}
	return []candidate{
		{"Google Chrome", "google-chrome"},
		{"Google Chrome", "google-chrome-stable"},
		{"Google Chrome", "/opt/google/chrome/chrome"},
		{"Chromium", "chromium"},
		{"Chromium", "chromium-browser"},
		{"Brave", "brave-browser"},
		{"Brave", "brave"},
		{"Microsoft Edge", "microsoft-edge"},
		{"Microsoft Edge", "microsoft-edge-stable"},
		{"Chromium", "/snap/bin/chromium"},
	}
}

// findBrowser returns the browser in the configuration or, if there is none, the first installed
// browser.
func findBrowser(path, goos, home string, getenv func(string) string, look func(string) (string, error)) (Found, error) {
	if path != "" {
		at, err := look(path)
		if err != nil {
			return Found{}, &Error{Kind: NotInstalled, Message: fmt.Sprintf("no browser at %s", path), Remedy: "correct [browser] path, or leave it empty", Err: err}
		}
		return Found{filepath.Base(at), at}, nil
	}
	for _, c := range browserCandidates(goos, home, getenv) {
		if at, err := look(c.place); err == nil && filepath.IsAbs(at) {
			return Found{c.name, at}, nil
		}
	}
	return Found{}, &Error{Kind: NotInstalled, Message: "no Chrome, Chromium, Edge or Brave found", Remedy: "install one of them, or set [browser] path"}
}
