package apps

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"hob/platform/host/osrun/osruntest"
)

const calc = `# a comment
[Desktop Entry]
Type=Application
Name=Calculator
Name[de]=Taschenrechner
GenericName=Number cruncher
Exec="/opt/the calc/run" --title %c %U --price=5%% "a \"b\" \\$c"
Icon=calc
Terminal=false
[Desktop Action new]
Name=New
Exec=evil
`

func TestParseEntry(t *testing.T) {
	a, err := parseEntry("org.calc.desktop", strings.NewReader(calc), "de_DE.UTF-8")
	if err != nil {
		t.Fatal(err)
	}
	if want := []string{"/opt/the calc/run", "--title", "Taschenrechner", "--price=5%", `a "b" $c`}; a.Name != "Taschenrechner" || !cmp.Equal(a.Command, want) {
		t.Errorf("%q %q", a.Name, a.Command)
	}
	if want := []string{"org.calc", "calculator", "taschenrechner", "number cruncher", "run"}; !cmp.Equal(a.words, want) {
		t.Errorf("words %q", a.words)
	}
	for name, text := range map[string]string{
		"a link":              "[Desktop Entry]\nType=Link\nName=x\nURL=http://x",
		"not shown":           "[Desktop Entry]\nType=Application\nName=x\nExec=x\nNoDisplay=true",
		"removed":             "[Desktop Entry]\nType=Application\nName=x\nExec=x\nHidden=true",
		"no program":          "[Desktop Entry]\nType=Application\nName=x\nExec=%U",
		"a quote without end": "[Desktop Entry]\nType=Application\nName=x\nExec=\"x",
		"nothing":             "",
		"another group":       "[X]\nType=Application\nName=x\nExec=x",
	} {
		if a, err := parseEntry("x.desktop", strings.NewReader(text), ""); err == nil {
			t.Errorf("%s: %+v", name, a)
		}
	}
}

func FuzzParseEntry(f *testing.F) {
	f.Add(calc, "de_DE")
	f.Fuzz(func(t *testing.T, text, locale string) {
		a, err := parseEntry("x.desktop", strings.NewReader(text), locale)
		if err == nil && (a.Name == "" || len(a.Command) == 0) {
			t.Errorf("%+v", a)
		}
	})
}

func TestPick(t *testing.T) {
	all := []App{
		{ID: "firefox", Name: "Firefox Web Browser", words: []string{"firefox", "firefox web browser", "web browser"}},
		{ID: "org.gnome.Calculator", Name: "Calculator", words: []string{"org.gnome.calculator", "calculator", "gnome-calculator"}},
		{ID: "lo-writer", Name: "LibreOffice Writer", words: []string{"lo-writer", "libreoffice writer"}},
		{ID: "lo-calc", Name: "LibreOffice Calc", words: []string{"lo-calc", "libreoffice calc"}},
	}
	for name, want := range map[string]string{
		"firefox": "firefox", "Web  Browser": "firefox", "calculator": "org.gnome.Calculator", "gnome-calculator": "org.gnome.Calculator", "writer": "lo-writer", "culato": "org.gnome.Calculator",
	} {
		if a, err := findAppByName(all, strings.Join(strings.Fields(name), " ")); err != nil || a.ID != want {
			t.Errorf("%q means %q, %v", name, a.ID, err)
		}
	}
	if _, err := findAppByName(all, "libreoffice"); err == nil || !strings.Contains(err.Error(), "several") || errors.Is(err, ErrNone) {
		t.Errorf("several: %v", err)
	}
	if _, err := findAppByName(all, "firebird"); !errors.Is(err, ErrNone) || !strings.Contains(err.Error(), "Firefox") {
		t.Errorf("none: %v", err)
	}
}

func TestStartMenu(t *testing.T) {
	list := menuApps([]startMenuItem{{"Editor", `{1AC14E77-02E7-4E5D-B744-2EB1AE5198B7}\notepad.exe`}, {"Rechner", "Microsoft.WindowsCalculator_8wekyb3d8bbwe!App"}, {"Mine", `C:\Users\x\evil.exe`}, {"", "x"}})
	if len(list) != 3 || !list[0].Shared || !list[1].Shared || list[2].Shared {
		t.Errorf("menuApps = %+v", list)
	}
	osruntest.Check(t, startScript())
}

func TestBundles(t *testing.T) {
	dir := t.TempDir()
	for _, n := range []string{"Safari.app", "Notes.txt", ".app"} {
		if err := os.Mkdir(filepath.Join(dir, n), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if got := listBundles(dir); len(got) != 1 || got[0].Name != "Safari" || got[0].Shared {
		t.Errorf("listBundles = %+v", got)
	}
}
