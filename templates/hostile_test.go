package templates_test

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"hob/templates"
)

const manifest = "[template]\nname = \"night-owl\"\ndescription = \"For the night\"\n"

// member is an entry of an archive.
type member struct {
	name, text string
	mode       fs.FileMode
	link       string
}

func tarGz(t testing.TB, members ...member) []byte {
	t.Helper()
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	w := tar.NewWriter(z)
	for _, m := range members {
		h := &tar.Header{Name: m.name, Mode: 0o644, Size: int64(len(m.text)), Typeflag: tar.TypeReg}
		switch {
		case m.mode&fs.ModeSymlink != 0:
			h.Typeflag, h.Linkname, h.Size = tar.TypeSymlink, m.link, 0
		case m.mode&fs.ModeIrregular != 0:
			h.Typeflag, h.Linkname, h.Size = tar.TypeLink, m.link, 0
		case m.mode&fs.ModeNamedPipe != 0:
			h.Typeflag, h.Size = tar.TypeFifo, 0
		case m.mode.IsDir():
			h.Typeflag, h.Size = tar.TypeDir, 0
		}
		if err := w.WriteHeader(h); err != nil {
			t.Fatal(err)
		}
		if h.Size > 0 {
			if _, err := io.WriteString(w, m.text); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := errors.Join(w.Close(), z.Close()); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func createZip(t testing.TB, members ...member) []byte {
	t.Helper()
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	for _, m := range members {
		h := &zip.FileHeader{Name: m.name, Method: zip.Deflate}
		h.SetMode(m.mode | 0o644)
		f, err := w.CreateHeader(h)
		if err != nil {
			t.Fatal(err)
		}
		text := m.text
		if m.link != "" {
			text = m.link
		}
		if _, err := io.WriteString(f, text); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func loadTemplate(t testing.TB, name string, b []byte) (*templates.Template, error) {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, b, 0o600); err != nil {
		t.Fatal(err)
	}
	return templates.Load(path)
}

func TestLoad_Archives(t *testing.T) {
	soul := member{name: "SOUL.md", text: "Whoo."}
	good := member{name: "template.toml", text: manifest}
	below := []member{{name: "owl/", mode: fs.ModeDir}, {name: "owl/template.toml", text: manifest}, {name: "owl/SOUL.md", text: "Whoo."}, {name: "owl/skills/hunt/SKILL.md", text: "# Hunt"}, {name: "owl/README.md", text: "x"}}
	many := make([]member, 2000)
	for i := range many {
		many[i] = member{name: strings.Repeat("a", i%90+1) + string(rune('a'+i%26)) + "/" + strings.Repeat("b", i/90+1)}
	}
	mac := make([]member, 1001)
	for i := range mac {
		mac[i] = member{name: fmt.Sprintf("__MACOSX/%d", i)}
	}
	for _, tc := range []struct {
		name    string
		members []member
		want    string // text in the error; "" for a valid template
	}{
		{"at the top", []member{good, soul}, ""},
		{"in a folder", below, ""},
		{"with a dot", []member{{name: "./template.toml", text: manifest}, {name: "./SOUL.md", text: "Whoo."}}, ""},
		{"made on a Mac", append([]member{{name: "__MACOSX/owl/._template.toml", text: "x"}, {name: "__MACOSX/._owl", text: "x"}}, below...), ""},
		{"made on a Mac, at the top", []member{good, soul, {name: "__MACOSX/", mode: fs.ModeDir}, {name: "__MACOSX/._SOUL.md", text: "x"}}, ""},
		{"made on a Mac, a path with ..", []member{good, {name: "__MACOSX/../../evil", text: "x"}}, "outside the archive"},
		{"made on a Mac, a bomb", []member{good, {name: "__MACOSX/z", text: strings.Repeat("\x00", 9<<20)}}, "is larger than 8 MB"},
		{"made on a Mac, too many files", append([]member{good}, mac...), "more than 1000 entries"},
		{"no template in the archive", []member{soul}, "template.toml is missing"},
		{"leads up", []member{good, {name: "../../evil", text: "x"}}, "outside the archive"},
		{"a path with .. inside the archive", []member{good, {name: "a/../../evil", text: "x"}}, "outside the archive"},
		{"absolute", []member{good, {name: "/etc/passwd", text: "x"}}, "outside the archive"},
		{"backslashes", []member{good, {name: "..\\evil", text: "x"}}, "outside the archive"},
		{"a drive", []member{good, {name: "C:/evil", text: "x"}}, "outside the archive"},
		{"a link", []member{good, {name: "SOUL.md", mode: fs.ModeSymlink, link: "/etc/passwd"}}, "not a regular file"},
		{"a pipe", []member{good, {name: "SOUL.md", mode: fs.ModeNamedPipe}}, "not a regular file"},
		{"twice", []member{good, {name: "Template.toml", text: "x"}, {name: "template.TOML", text: "y"}}, "twice"},
		{"a large text", []member{good, {name: "SOUL.md", text: strings.Repeat("a", 70<<10)}}, "larger than 64 KB"},
		{"a bomb", []member{good, {name: "zeros", text: strings.Repeat("\x00", 9<<20)}}, "is larger than 8 MB"},
		{"a bomb of many files", []member{good, {name: "z1", text: strings.Repeat("\x00", 5<<20)}, {name: "z2", text: strings.Repeat("\x00", 5<<20)}}, "is larger than 8 MB"},
		{"too many", append([]member{good}, many...), "more than 1000 entries"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			check := func(kind string, got *templates.Template, err error) {
				t.Helper()
				switch {
				case tc.want == "" && (err != nil || got.Name != "night-owl" || got.Soul != "Whoo."):
					t.Errorf("%s: %v, %+v", kind, err, got)
				case tc.want != "" && (err == nil || !errors.Is(err, templates.ErrInvalid) || !strings.Contains(err.Error(), tc.want)):
					t.Errorf("%s: %v, want %q", kind, err, tc.want)
				}
			}
			got, err := loadTemplate(t, "owl.tar.gz", tarGz(t, tc.members...))
			check("tar", got, err)
			got, err = loadTemplate(t, "owl.zip", createZip(t, tc.members...))
			check("zip", got, err)
		})
	}
	if _, err := loadTemplate(t, "owl.tgz", tarGz(t, good, member{name: "SOUL.md", mode: fs.ModeIrregular, link: "template.toml"})); err == nil || !strings.Contains(err.Error(), "not a regular file") {
		t.Errorf("a hard link: %v", err)
	}
	lying := createZip(t, good, member{name: "SOUL.md", text: strings.Repeat("a", 1<<20)})
	lying = bytes.ReplaceAll(lying, []byte{0, 0, 0x10, 0}, []byte{1, 0, 0, 0}) // the header declares 1 byte, but the content has 1 MB
	if _, err := loadTemplate(t, "owl.zip", lying); err == nil {
		t.Error("a zip with a wrong size is accepted")
	}
	for _, b := range [][]byte{nil, []byte("PK\x03\x04"), {0x1f, 0x8b}} {
		for _, name := range []string{"a.zip", "a.tar.gz"} {
			if _, err := loadTemplate(t, name, b); !errors.Is(err, templates.ErrInvalid) {
				t.Errorf("%s of %q: %v", name, b, err)
			}
		}
	}
}

func TestLoad_FolderWithLinks(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("symbolic links need a privilege on Windows")
	}
	secret := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(secret, []byte("key"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, link := range []string{"SOUL.md", "template.toml", "skills", "skills/x"} {
		t.Run(link, func(t *testing.T) {
			dir := t.TempDir()
			if link != "template.toml" {
				if err := os.WriteFile(filepath.Join(dir, "template.toml"), []byte(manifest), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, link)), 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.Symlink(secret, filepath.Join(dir, link)); err != nil {
				t.Fatal(err)
			}
			if x, err := templates.Load(dir); !errors.Is(err, templates.ErrInvalid) {
				t.Errorf("%v, %+v", err, x)
			}
		})
	}
}

// TestParse_RejectsForbiddenKeys tests texts that no template may contain.
func TestParse_RejectsForbiddenKeys(t *testing.T) {
	for _, tc := range []struct{ name, text, want string }{
		{"a command", manifest + "[config.shell]\nallow = [\"rm\"]\n", "may not set shell.allow"},
		{"the sandbox", manifest + "[config.shell]\nsandbox = \"off\"\n", "may not set"},
		{"folders", manifest + "[config.files]\nallowed = [\"/\"]\n", "may not set"},
		{"trust", manifest + "[config.files]\ntrusted = [\"/\"]\n", "may not set"},
		{"hosts", manifest + "[config.network]\nallow_hosts = [\"evil.example\"]\n", "may not set"},
		{"research", manifest + "[config.network]\nresearch = true\n", "may not set"},
		{"the guard", manifest + "[config.guard]\nblock = false\n", "may not set"},
		{"a model", manifest + "[config.agent]\nmodel = \"evil/x\"\n", "may not set"},
		{"a provider", manifest + "[config.providers.x]\nbase_url = \"http://evil\"\n", "may not set"},
		{"an account", manifest + "[config.accounts.x]\nimap = \"evil\"\n", "may not set"},
		{"a channel", manifest + "[config.channels.webhook]\nurl = \"http://evil\"\n", "may not set"},
		{"a target for notices", manifest + "[config.notify]\nchannel = \"webhook\"\n", "may not set"},
		{"recipients", manifest + "[config.autonomy]\nrecipients = [\"evil@example.org\"]\n", "may not set"},
		{"folders that are ingested", manifest + "[config.knowledge]\nfolders = [\"/\"]\n", "may not set"},
		{"the web", manifest + "[config.web]\nlisten = \"0.0.0.0:1\"\n", "may not set"},
		{"an agent", manifest + "[config.agents.x]\nlevel = \"trusted\"\n", "may not set"},
		{"a whole section", manifest + "[[config.levels]]\nlevel = \"trusted\"\n", "may not set"},
		{"a dotted key", manifest + "[config]\n\"shell.allow\" = [\"rm\"]\n", "may not set"},
		{"a list", manifest + "[config.autonomy]\ntick = [\"1s\"]\n", "must be a string"},
		{"lines", manifest + "[config.agent]\nname = \"a\\n[shell]\\nallow = [1]\"\n", "one line"},
		{"an unknown key", manifest + "hooks = [\"x\"]\n", "unknown key"},
		{"a schedule as a watcher", manifest + "[[watchers]]\nkind = \"cron\"\n", "use a schedule"},
		{"a schedule without a time", manifest + "[[schedules]]\nsay = \"x\"\n", "exactly one of"},
		{"a schedule with two actions", manifest + "[[schedules]]\nevery = \"day\"\nsay = \"x\"\ndo = \"y\"\n", "exactly one of"},
		{"a priority", manifest + "[[goals]]\ndescription = \"x\"\npriority = 9\n", "between 1 and 5"},
		{"a hasty goal", manifest + "[[goals]]\ndescription = \"x\"\ncheck_every = \"1s\"\n", "check_every"},
		{"a path as a name", "[template]\nname = \"../x\"\ndescription = \"x\"\n", "is not a valid name"},
		{"no name", "[template]\ndescription = \"x\"\n", "is not a valid name"},
		{"colours", "[template]\nname = \"x\"\ndescription = \"\\u001b[31mx\"\n", "one line"},
		{"no TOML", "[template", "template.toml:1"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			_, err := templates.Parse([]byte(tc.text), nil)
			if !errors.Is(err, templates.ErrInvalid) || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("%v, want %q", err, tc.want)
			}
		})
	}
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "template.toml"), []byte(strings.Replace(manifest, "night-owl", "housekeeper", 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := templates.Load(dir); err == nil || !strings.Contains(err.Error(), "built-in") {
		t.Errorf("an external template may use the name of a built-in one: %v", err)
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(manifest), []byte("Whoo."))
	f.Add([]byte(manifest+"[config.autonomy]\ntick = \"1m\"\n[[goals]]\ndescription = \"x\"\n[[schedules]]\nevery = \"day\"\nsay = \"x\"\n[[watchers]]\nkind = \"file\"\nconfig.path = \"~\"\n"), []byte{})
	f.Fuzz(func(t *testing.T, text, soul []byte) {
		x, err := templates.Parse(text, soul)
		if err != nil {
			return
		}
		x.Asks()
		b, err := x.Encode()
		if err != nil {
			t.Fatalf("Marshal of a parsed template: %v", err)
		}
		if _, err := templates.Parse(b, soul); err != nil {
			t.Fatalf("Parse of a marshalled template: %v\n%s", err, b)
		}
		for _, s := range x.Config {
			if !strings.HasPrefix(s.Key, "agent.") && !strings.HasPrefix(s.Key, "autonomy.") && !strings.HasPrefix(s.Key, "budget.") && !strings.HasPrefix(s.Key, "notify.") && !strings.HasPrefix(s.Key, "plan.") {
				t.Fatalf("the template sets the forbidden key %s", s.Key)
			}
		}
	})
}

func FuzzArchive(f *testing.F) {
	f.Add(tarGz(f, member{name: "template.toml", text: manifest}), false)
	f.Add(createZip(f, member{name: "x/template.toml", text: manifest}), true)
	f.Fuzz(func(t *testing.T, b []byte, zip bool) {
		name := "a.tar.gz"
		if zip {
			name = "a.zip"
		}
		x, err := loadTemplate(t, name, b)
		if err == nil && x.Name == "" {
			t.Fatal("Load accepts a template without a name")
		}
	})
}

// FuzzDiff checks that Diff returns "" exactly if the texts are equal.
func FuzzDiff(f *testing.F) {
	f.Add("a\nb\nc\n", "a\nx\nc")
	f.Add("", "a")
	f.Fuzz(func(t *testing.T, a, b string) {
		d := templates.Diff("x", a, b, 3)
		if (d == "") != (a == b) {
			t.Fatalf("diff of %q and %q = %q", a, b, d)
		}
	})
}
