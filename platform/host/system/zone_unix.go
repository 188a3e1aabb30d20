//go:build unix

package system

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// localZone determines the zone in the order of tzset(3): TZ, the target of /etc/localtime,
// /etc/timezone (Debian), and UTC if nothing is set, as in containers.
func localZone() (string, error) {
	return findZone(os.LookupEnv, "/")
}

// localCopy returns the rules of the zone if /etc/localtime is not a link.
func localCopy() ([]byte, error) { return copyOf("/etc/localtime") }

// copyOf reads a file of zone rules, tzfile(5), which are a few thousand bytes.
func copyOf(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, 1<<20))
}

func findZone(lookup func(string) (string, bool), root string) (string, error) {
	if tz, ok := lookup("TZ"); ok {
		tz = strings.TrimPrefix(tz, ":")
		switch {
		case tz == "":
			return "UTC", nil
		case filepath.IsAbs(tz):
			if n, ok := zoneOfPath(tz); ok {
				return n, nil
			}
			return "", errors.New("TZ names a file that is not in a zoneinfo folder; set agent.timezone")
		}
		return tz, nil
	}
	link := filepath.Join(root, "etc/localtime")
	for range 8 { // follow chains of links, as on macOS
		to, err := os.Readlink(link)
		if errors.Is(err, fs.ErrNotExist) {
			break
		}
		if err != nil {
			return zoneFile(root)
		}
		if n, ok := zoneOfPath(to); ok {
			return n, nil
		}
		if !filepath.IsAbs(to) {
			to = filepath.Join(filepath.Dir(link), to)
		}
		link = to
	}
	if n, err := zoneFile(root); err == nil {
		return n, nil
	}
	return "UTC", nil
}

func zoneFile(root string) (string, error) {
	b, err := os.ReadFile(filepath.Join(root, "etc/timezone"))
	if n := strings.TrimSpace(string(b)); err == nil && n != "" {
		return n, nil
	}
	return "", errors.New("/etc/localtime is a copy without a zone name; set agent.timezone")
}

// zoneOfPath returns the zone name in ".../zoneinfo/Europe/Vilnius".
func zoneOfPath(path string) (string, bool) {
	for _, sep := range []string{"/zoneinfo/", "/zoneinfo.default/"} {
		if _, n, ok := strings.Cut(path, sep); ok && n != "" {
			n = strings.TrimPrefix(strings.TrimPrefix(n, "posix/"), "right/")
			return n, true
		}
	}
	return "", false
}
