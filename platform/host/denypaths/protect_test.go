package denypaths

import (
	"bufio"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

func TestProtectionReason(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("the test uses Unix paths")
	}
	p := New(Options{Home: "/home/ann", Own: []string{"/home/ann/.hob"}, Allowed: []string{"/srv/work"}})
	for _, c := range []struct {
		path, want string
	}{
		{"/home/ann/.ssh", keys},
		{"/home/ann/.ssh/id_ed25519", keys},
		{"/home/ann/.SSH/x", keys},
		{"/home/ann/.sshx", ""},
		{"/home/ann/.config/gcloud/credentials.db", keys},
		{"/home/ann/.bashrc", shell},
		{"/home/ann/.config/autostart/x.desktop", starts},
		{"/home/ann/.mozilla/firefox/x/logins.json", browser},
		{"/home/ann/.bash_history", words},
		{"/home/ann/.hob/token", own},
		{"/home/ann/.hob", own},
		{"/home/ann/notes.txt", ""},
		{"/home/ann", ""},
		{"/srv/work/.git/config", either},
		{"/srv/work/.git/HEAD", ""},
		{"/srv/work/deploy/.aws/credentials", either},
		{"/srv/work/id_rsa", either},
		{"/srv/work/id_rsa.pub", ""},
		{"/etc/shadow", machine},
		{"/etc/sudoers.d/x", machine},
		{"/etc/passwd", ""},
		{"/etc/cron.d/x", machine},
		{"/root/.bashrc", machine},
		{"/proc/self/environ", process},
		{"/proc/1/environ", process},
		{"/proc/1234/mem", process},
		{"/proc/1/root/etc/shadow", process},
		{"/proc/self/fd/3", process},
		{"/proc/self/task/1/environ", process},
		{"/proc/thread-self/environ", process},
		{"/proc/self/status", ""},
		{"/proc/cpuinfo", ""},
		{"/proc/sysrq-trigger", machine},
		{"/proc/kcore", machine},
		{"/dev/sda", isDevice},
		{"/dev/mem", isDevice},
		{"/dev/tcp/10.0.0.1/80", isDevice},
		{"/dev/null", ""},
		{"/dev", ""},
		{"/", ""},
	} {
		if got := p.ProtectionReason(c.path); got != c.want {
			t.Errorf("%s: %q, want %q", c.path, got, c.want)
		}
	}
}

// If the user is root, the home folder /root is a protected path of the system, but Hob must still
// be able to use it.
func TestProtectionReason_HomeOfRoot(t *testing.T) {
	p := New(Options{Home: "/root"})
	if got := p.ProtectionReason("/root/notes.txt"); got != "" {
		t.Errorf("the user's own file is protected: %s", got)
	}
	if got := p.ProtectionReason("/root/.ssh/id_rsa"); got == "" {
		t.Error("the user's keys are not protected")
	}
}

func TestProtectionReason_ResolvedNames(t *testing.T) {
	real, link := t.TempDir(), filepath.Join(t.TempDir(), "home")
	if err := os.Symlink(real, link); err != nil {
		t.Skip("symbolic links are not available:", err)
	}
	p := New(Options{Home: link, Own: []string{filepath.Join(link, "hob")}})
	real, err := filepath.EvalSymlinks(real)
	if err != nil {
		t.Fatal(err)
	}
	if p.ProtectionReason(filepath.Join(real, ".ssh")) == "" || p.ProtectionReason(filepath.Join(link, ".ssh")) == "" {
		t.Error("one of the two names of the home is not protected")
	}
}

func TestProtectedInside(t *testing.T) {
	home := t.TempDir()
	p := New(Options{Home: home})
	if got := p.ProtectedInside(home); got != "" {
		t.Errorf("ProtectedInside of an empty home = %s", got)
	}
	if err := os.Mkdir(filepath.Join(home, ".ssh"), 0o700); err != nil {
		t.Fatal(err)
	}
	if got := p.ProtectedInside(home); got != filepath.Join(home, ".ssh") {
		t.Errorf("ProtectedInside of the home = %q", got)
	}
}

// Tests sensitive files from published attack lists. Keys, environments and registries are
// protected. Logs and server settings are not, because the user decides about them.
func TestProtectionReason_SensitiveFiles(t *testing.T) {
	dir := os.Getenv("HOB_TEST_DATA")
	if dir == "" {
		dir = "../../../../shared/data"
	}
	f, err := os.Open(filepath.Join(dir, "payloads", "sensitive-files.txt"))
	if err != nil {
		t.Skip("HOB_TEST_DATA is not set: ", err)
	}
	defer f.Close()
	p := New(Options{Home: "/home/ann"})
	refused := 0
	for s := bufio.NewScanner(f); s.Scan(); {
		path := strings.ToLower(filepath.ToSlash(strings.ReplaceAll(s.Text(), `\`, "/")))
		why := p.ProtectionReason(path)
		if why != "" {
			refused++
		}
		for _, secret := range []string{"/windows/repair/", "/windows/panther/", "/windows/system32/config/", "/windows/system32/sysprep/"} {
			if strings.Contains(path, secret) && why == "" {
				t.Errorf("%s is not protected", path)
			}
		}
	}
	t.Logf("%d are protected", refused)
}
