//go:build unix

package badinput

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"hob/platform/pim"
	"hob/platform/pim/pimtest"
)

// noBrowser disables the browser, so that the doctor does not start one in each of these homes.
const noBrowser = offline + "[browser]\nenabled = false\n"

// brokenHome describes a home with a problem and the expected findings.
type brokenHome struct {
	name  string
	probe string
	conf  string // "" means noBrowser
	spoil func(t *testing.T, h *daemonFixture)
	code  int    // exit code of hob doctor
	says  string // pattern of the finding on one line: "state name cause -> remedy"
	fixes string // pattern of the report of --fix; "" if only the user can fix the problem
}

func sickHomes() []brokenHome {
	write := func(path, text string) func(*testing.T, *daemonFixture) {
		return func(_ *testing.T, h *daemonFixture) {
			h.makeFolder(filepath.Dir(path))
			h.writeFile(path, text)
		}
	}
	mode := func(name string, mode os.FileMode) func(*testing.T, *daemonFixture) {
		return func(_ *testing.T, h *daemonFixture) { h.changeMode(name, mode) }
	}
	return []brokenHome{
		{"an unknown section", "config", "", write("config.toml", "[agnet]\n"), 1, `fail +config .*config.toml:1: agnet: unknown section -> did you mean "agent"`, ""},
		{"a configuration that its owner may not read", "config", "", mode("config.toml", 0), 1, `fail +config +you do not have permission to read .*config.toml \(mode 0000\) -> .*chmod 600`, `closed .*config.toml`},
		{"a configuration that others read", "files", "", mode("config.toml", 0o644), 0, `warn +files +other users can read private files: .*config.toml -> hob doctor --fix`, `closed .*config.toml`},
		{"a key that others can change", "files", "", mode("audit.key", 0o666), 1, `fail +files +other users can change .*audit.key \(mode 0666\).* -> hob doctor --fix`, `closed .*audit.key`},
		{"a home that others write to", "home", "", mode(".", 0o777), 1, `fail +home +other users can add and remove files in .* \(mode 0777\).* -> .*chmod 700`, `closed .* to others`},
		{"a read-only home", "home", "", mode(".", 0o500), 1, `fail +home +cannot write to the folder .*permission denied -> make it writable`, `closed .* to others`},
		{"a token that others read", "token", "", mode("token", 0o644), 1, `fail +token +other users can read .*token .* -> .*hob token rotate`, `created a new token`},
		{"a damaged database", "database", "", write("hob.db", strings.Repeat("not a database", 999)), 1, `fail +database .*damaged.* -> restart Hob: it moves the file aside`, ""},
		{"a database of a newer Hob", "database", "", func(_ *testing.T, h *daemonFixture) { h.execSQL("INSERT INTO migrations VALUES ('future', 1, 0)") }, 1, `fail +database .*newer version.* -> update Hob`, ""},
		{"no copy of an old database", "backup", "", func(_ *testing.T, h *daemonFixture) { h.execSQL("UPDATE migrations SET applied_at = 1700000000000") }, 0, `warn +backup +no backup of the database, which is \d+ days old -> .*hob backup`, ""},
		{"a key in a keychain that is not there", "secrets", noBrowser + "[search]\nkey = \"keychain:search\"\n", nil, 1, `fail +secrets +search.key = "keychain:search": secret "search": no secret with this name -> store it with: hob secret set search`, ""},
		{"a port that a stranger has", "port", "", func(t *testing.T, h *daemonFixture) {
			l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
			failOnError(t, err)
			t.Cleanup(func() { l.Close() })
			h.writeFile("config.toml", strings.ReplaceAll(noBrowser, "127.0.0.1:0", l.Addr().String()))
		}, 0, `warn +port +another program listens on 127.0.0.1:\d+, so Hob would listen on a free port -> .*web.listen`, ""},
		{"a daemon that was killed", "leftovers", "", func(t *testing.T, h *daemonFixture) {
			h.startDaemon()
			h.killDaemon()
			h.deadSocket("run/old.sock")
		}, 0, `warn +leftovers +the daemon \(pid \d+, since .*\) was interrupted; leftovers: the lock file, endpoint.json.* -> hob doctor --fix.*unused sockets: .*old.sock`, `cleared the lock of pid \d+, removed .*endpoint.json.*removed .*old.sock`},
		{"a write that was cut off", "leftovers", "", func(t *testing.T, h *daemonFixture) {
			h.writeFile(".config.toml.1234567", "half")
			old := time.Now().Add(-2 * time.Hour)
			failOnError(t, os.Chtimes(filepath.Join(h.home, ".config.toml.1234567"), old, old))
			h.writeFile(".config.toml.7654321", "another one that is at it")
		}, 0, `warn +leftovers +1 file of an interrupted write: .*\.config.toml.1234567`, `removed .*\.config.toml.1234567$`},
		{"an upgrade that failed", "leftovers", "", write("upgrade-failed.json", `{"version":"v9","reason":"boom","at":"2026-01-02T03:04:05Z","tries":1}`), 0, `warn +leftovers +2026-01-0.*: the upgrade to v9 failed: boom -> remove the cause`, `the next start repeats the upgrade`},
		{"a missing database with a backup", "database", "", func(t *testing.T, h *daemonFixture) {
			h.runHob("backup").checkSuccess("snapshot-")
			failOnError(t, os.Remove(filepath.Join(h.home, "hob.db")))
		}, 0, `warn +database +the database file is missing -> the next start uses the newest good backup`, ""},
		{"no folder for the log", "files", "", func(t *testing.T, h *daemonFixture) { failOnError(t, os.RemoveAll(filepath.Join(h.home, "logs"))) }, 0, `warn +files +missing: .*logs -> hob doctor --fix`, `made .*logs`},
		{"a folder that leads nowhere", "files", "", func(t *testing.T, h *daemonFixture) {
			failOnError(t, os.RemoveAll(filepath.Join(h.home, "logs")))
			failOnError(t, os.Symlink(filepath.Join(h.dir, "gone"), filepath.Join(h.home, "logs")))
			h.takeOwnership(filepath.Join(h.home, "logs"))
		}, 1, `fail +files .*logs is a link to .*gone, which does not exist -> restore the target`, ""},
		{"a folder in a place of everybody's", "files", "", func(t *testing.T, h *daemonFixture) {
			open := filepath.Join(h.dir, "open")
			failOnError(t, os.Mkdir(open, 0o700))
			failOnError(t, os.Chmod(open, 0o777)) //nolint:gosec // the test needs a folder that everyone can change
			failOnError(t, os.Symlink(open, filepath.Join(h.home, "policy")))
			h.takeOwnership(open, filepath.Join(h.home, "policy"))
		}, 1, `fail +files .*policy is a link to .*open, which other users can change \(mode 0777\) -> run: chmod go-w`, ""},
		{"a damaged index", "memory", "", func(_ *testing.T, h *daemonFixture) { h.makeFolder("index/damaged") }, 0, `warn +memory +a damaged index was moved to .* -> no data was lost`, `removed the damaged index`},
		{"a key that is refused", "model", "", func(t *testing.T, h *daemonFixture) {
			h.writeFile("config.toml", modelConfig(h.serveModel(t, func(w http.ResponseWriter, _ *http.Request) {
				http.Error(w, `{"error":{"message":"Incorrect API key provided"}}`, http.StatusUnauthorized)
			})))
		}, 1, `fail +model +far/m1 does not work: .*(key|API key).* -> `, ""},
		{"a model server that is down", "model", modelConfig("http://127.0.0.1:9/v1"), nil, 1, `fail +model +far/m1 does not work: .* -> `, ""},
		{"a clock that is far off", "clock", "", func(t *testing.T, h *daemonFixture) {
			h.writeFile("config.toml", modelConfig(h.serveModel(t, func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Date", time.Now().Add(49*time.Hour).UTC().Format(http.TimeFormat))
				fmt.Fprint(w, `{"object":"list","data":[{"id":"m1","object":"model"}]}`)
			})))
		}, 0, `warn +clock +49h0m behind the time of 127.0.0.1 -> set this machine's clock`, ""},
		{"a mail account that is refused", "account work", "", func(t *testing.T, h *daemonFixture) {
			a := pimtest.Speak(t, "* OK [CAPABILITY IMAP4rev1 AUTH=PLAIN SASL-IR] hello\r\n", func(tag, _ string) string {
				return tag + " NO [AUTHENTICATIONFAILED] wrong password\r\n"
			})
			ca, err := os.ReadFile(a.CA)
			failOnError(t, err)
			h.writeFile("ca.pem", string(ca))
			h.writeFile("config.toml", noBrowser+fmt.Sprintf("[accounts.work]\nimap = %q\nca = %q\naddress = \"a@example.org\"\npassword = \"hunter2\"\n", a.Server(pim.IMAP), filepath.Join(h.home, "ca.pem")))
		}, 1, `fail +account work .*sign-in.* -> .*app password`, ""},
		{"a template that cannot be read", "template", "", write("templates/mine/template.toml", "name = [\n"), 0, `warn +template +the template mine does not work: .* -> `, ""},
		{"a policy with an error", "policy", "", write("policy/night.cedar", "forbid (princpal"), 1, `fail +policy .*night.cedar.* -> fix`, ""},
		{"a start that leads nowhere", "autostart", "", func(t *testing.T, h *daemonFixture) {
			h.runHob("service", "install", "--kind", "xdg").checkSuccess("starts when you log in")
			path := filepath.Join(h.user, ".config", "autostart", "hob.desktop")
			b, err := os.ReadFile(path)
			failOnError(t, err)
			failOnError(t, os.WriteFile(path, []byte(strings.ReplaceAll(string(b), programPath(), "/gone/hob")), 0o600))
		}, 1, `fail +autostart .*hob.desktop starts /gone/hob, which no longer exists -> .*hob service install`, `hob.desktop starts .*/hob now`},
		{"another home's start that leads nowhere", "autostart", "", func(t *testing.T, h *daemonFixture) {
			h.runHob("service", "install", "--kind", "xdg").checkSuccess("starts when you log in")
			path := filepath.Join(h.user, ".config", "autostart", "hob.desktop")
			b, err := os.ReadFile(path)
			failOnError(t, err)
			failOnError(t, os.WriteFile(path, []byte(strings.ReplaceAll(strings.ReplaceAll(string(b), programPath(), "/gone/hob"), h.home, h.user)), 0o600))
		}, 1, `fail +autostart .*hob.desktop was written for another home .* starts /gone/hob, which does not exist -> to start this program instead: hob service install`, ""},
		{"files of somebody else", "files", "", func(t *testing.T, h *daemonFixture) {
			if !isSuperuser() {
				t.Skip("only root can change the owner of a file")
			}
			failOnError(t, os.Mkdir(filepath.Join(h.home, "policy"), 0o755)) //nolint:gosec // stays the superuser's
		}, 1, `fail +files .*policy belongs to another user on this machine -> take ownership: sudo chown`, ""},
	}
}

// Each broken home is reported with its cause and its remedy. Fixable problems are fixed, and the
// next run finds none; settings of the user stay unchanged.
func TestDoctor_BrokenHomes(t *testing.T) {
	for _, s := range sickHomes() {
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			h := newFixture(t, noBrowser)
			h.runHob("ask", "hello").checkSuccess("Hello")
			if s.conf != "" {
				h.writeFile("config.toml", s.conf)
			}
			if s.spoil != nil {
				s.spoil(t, h)
			}
			before := h.runHob("doctor")
			finding := before.stateOf(s.probe)
			if before.code != s.code || !regexp.MustCompile(s.says).MatchString(finding) {
				t.Fatalf("exit code %d, want %d; %q, want %q\n%s%s", before.code, s.code, finding, s.says, before.out, before.errs)
			}
			if s.fixes == "" {
				if strings.Contains(finding, "fixed: ") || strings.Contains(h.runHob("doctor", "--fix", s.probe).out, "fixed: ") {
					t.Errorf("the doctor fixed a problem that only the user may fix: %s", finding)
				}
				return
			}
			fixed := h.runHob("doctor", "--fix")
			if did := regexp.MustCompile(`(?m)fixed: (.*)$`).FindStringSubmatch(fixed.out); fixed.code != 0 || did == nil || !regexp.MustCompile(s.fixes).MatchString(did[1]) {
				t.Fatalf("exit code %d, fixed %q, want %q\n%s%s", fixed.code, did, s.fixes, fixed.out, fixed.errs)
			}
			after := h.runHob("doctor")
			if finding := after.stateOf(s.probe); after.code != 0 || regexp.MustCompile(`^(warn|fail)`).MatchString(finding) || strings.Contains(after.out, "fixed: ") {
				t.Errorf("second run: exit code %d, %s\n%s%s", after.code, finding, after.out, after.errs)
			}
			h.runHob("ask", "hello").checkSuccess("Hello")
		})
	}
}

// A daemon that hangs is reported like other problems, and nothing is fixed while it runs.
func TestDoctor_HangingDaemon(t *testing.T) {
	t.Parallel()
	h := newFixture(t, noBrowser)
	h.startDaemon()
	h.changeMode("config.toml", 0o644)
	failOnError(t, h.daemon.Process.Signal(syscall.SIGSTOP))
	r := h.runHob("doctor", "--fix")
	if daemon := r.stateOf("daemon"); r.code != 1 || !regexp.MustCompile(`fail +daemon .*does not answer.* -> `).MatchString(daemon) {
		t.Errorf("exit code %d, %q\n%s%s", r.code, daemon, r.out, r.errs)
	}
	if files := r.stateOf("files"); !strings.Contains(files, "other users can read") || strings.Contains(r.out, "fixed: ") || !strings.Contains(r.errs, "cannot apply fixes while an unresponsive daemon is running") {
		t.Errorf("%q\n%s%s", files, r.out, r.errs)
	}
}

// While an older daemon without a doctor runs, nothing is fixed.
func TestDoctor_OlderDaemon(t *testing.T) {
	t.Parallel()
	h := newFixture(t, noBrowser)
	h.startDaemon()
	h.makeFolder("index/damaged")
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/readyz" {
			http.NotFound(w, r)
		}
	}))
	t.Cleanup(s.Close)
	h.writeFile("endpoint.json", fmt.Sprintf(`{"pid":%d,"address":%q}`, h.daemon.Process.Pid, s.Listener.Addr()))
	r := h.runHob("doctor", "--fix")
	if !strings.Contains(r.stateOf("memory"), "damaged") || strings.Contains(r.out, "fixed: ") || !strings.Contains(r.errs, "cannot apply fixes while another version of Hob is running") {
		t.Errorf("%s%s", r.out, r.errs)
	}
	if _, err := os.Stat(filepath.Join(h.home, "index", "damaged")); err != nil {
		t.Error(err)
	}
}

var indented = regexp.MustCompile(`\n {19} `)

// stateOf returns the findings of a check, each with its remedy, on one line.
func (r result) stateOf(name string) string {
	var out []string
	for line := range strings.Lines(indented.ReplaceAllString(r.out, " ")) {
		if _, rest, ok := strings.Cut(line, " "); ok && strings.HasPrefix(strings.TrimSpace(rest), name+" ") {
			out = append(out, strings.TrimSpace(line))
		}
	}
	return strings.Join(out, " ")
}

// modelConfig returns a configuration with a model on a server.
func modelConfig(url string) string {
	return strings.Replace(noBrowser, `model = "offline"`, `model = "far/m1"`, 1) + fmt.Sprintf("[providers.far]\nkind = \"openai\"\nbase_url = %q\napi_key = \"k\"\n", url)
}

func (h *daemonFixture) serveModel(t *testing.T, answer http.HandlerFunc) string {
	s := httptest.NewServer(answer)
	t.Cleanup(s.Close)
	return s.URL + "/v1"
}

// makeFolder creates folders in HOB_HOME.
func (h *daemonFixture) makeFolder(name string) {
	h.t.Helper()
	at := h.home
	for part := range strings.SplitSeq(name, "/") {
		at = filepath.Join(at, part)
		if err := os.Mkdir(at, 0o700); err != nil {
			if !errors.Is(err, os.ErrExist) {
				h.t.Fatal(err)
			}
			continue
		}
		h.takeOwnership(at)
	}
}

// deadSocket creates a socket without a listener.
func (h *daemonFixture) deadSocket(name string) {
	h.t.Helper()
	path := filepath.Join(h.home, name)
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	failOnError(h.t, err)
	l.SetUnlinkOnClose(false)
	failOnError(h.t, l.Close())
	h.takeOwnership(path)
}
