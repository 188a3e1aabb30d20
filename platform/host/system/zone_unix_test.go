//go:build unix

package system

import (
	"os"
	"path/filepath"
	"testing"
)

func TestFindZone(t *testing.T) {
	tests := []struct {
		name, tz string
		set      bool
		link     string // target of /etc/localtime
		timezone string // content of /etc/timezone
		copied   bool   // /etc/localtime is a regular file
		want     string
		err      string
	}{
		{name: "TZ", tz: "Europe/Vilnius", set: true, want: "Europe/Vilnius"},
		{name: "TZ with colon", tz: ":Asia/Tokyo", set: true, want: "Asia/Tokyo"},
		{name: "TZ with path", tz: "/usr/share/zoneinfo/Asia/Tokyo", set: true, want: "Asia/Tokyo"},
		{name: "TZ empty", set: true, link: "/usr/share/zoneinfo/Asia/Tokyo", want: "UTC"},
		{name: "TZ outside of the zone folder", tz: "/tmp/zone", set: true, err: "agent.timezone"},
		{name: "link", link: "/usr/share/zoneinfo/America/Argentina/Salta", want: "America/Argentina/Salta"},
		{name: "relative link", link: "../usr/share/zoneinfo/Europe/Berlin", want: "Europe/Berlin"},
		{name: "macos link", link: "/var/db/timezone/zoneinfo/Europe/Paris", want: "Europe/Paris"},
		{name: "posix link", link: "/usr/share/zoneinfo/posix/Europe/Paris", want: "Europe/Paris"},
		{name: "copied, named by Debian", copied: true, timezone: "Europe/Rome\n", want: "Europe/Rome"},
		{name: "copied, unnamed", copied: true, err: "agent.timezone"},
		{name: "no source", want: "UTC"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			root := t.TempDir()
			etc := filepath.Join(root, "etc")
			if err := os.Mkdir(etc, 0o700); err != nil {
				t.Fatal(err)
			}
			if tt.link != "" {
				if err := os.Symlink(tt.link, filepath.Join(etc, "localtime")); err != nil {
					t.Fatal(err)
				}
			}
			if tt.copied {
				if err := os.WriteFile(filepath.Join(etc, "localtime"), []byte("TZif2"), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			if tt.timezone != "" {
				if err := os.WriteFile(filepath.Join(etc, "timezone"), []byte(tt.timezone), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			got, err := findZone(func(string) (string, bool) { return tt.tz, tt.set }, root)
			wantErr(t, err, tt.err)
			if got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}
