package apps

import (
	"bufio"
	"context"
	_ "embed" // embeds the script
	"errors"
	"io"
	"os"
	"path"
	"path/filepath"
	"strings"

	"hob/platform/host/osrun"
)

// maxEntry is the maximum size of a desktop entry, in bytes.
const maxEntry = 1 << 20

// errHidden marks an entry that menus do not show.
var errHidden = errors.New("entry is hidden")

// parseEntry parses a desktop entry (Desktop Entry Specification 1.5). Its names in all
// languages become search words.
func parseEntry(id string, r io.Reader, locale string) (App, error) {
	a := App{ID: strings.TrimSuffix(id, ".desktop")}
	a.words = []string{strings.ToLower(a.ID)}
	keys := map[string]string{}
	within := false
	lines := bufio.NewScanner(io.LimitReader(r, maxEntry))
	lines.Buffer(nil, maxEntry)
	for lines.Scan() {
		line := strings.TrimSpace(lines.Text())
		if strings.HasPrefix(line, "[") {
			if within {
				break // the remaining groups describe actions
			}
			within = line == "[Desktop Entry]"
			continue
		}
		k, v, ok := strings.Cut(line, "=")
		if !within || !ok || strings.HasPrefix(line, "#") {
			continue
		}
		k, v = strings.TrimSpace(k), unescapeEntry(strings.TrimSpace(v))
		if _, twice := keys[k]; !twice {
			keys[k] = v
		}
		if k == "Name" || strings.HasPrefix(k, "Name[") || k == "GenericName" || strings.HasPrefix(k, "GenericName[") {
			a.words = append(a.words, strings.ToLower(v))
		}
	}
	if err := lines.Err(); err != nil {
		return App{}, err
	}
	switch {
	case keys["Type"] != "Application" || keys["Name"] == "" || keys["Exec"] == "":
		return App{}, errors.New("entry is not an application")
	case keys["Hidden"] == "true" || keys["NoDisplay"] == "true":
		return App{}, errHidden
	}
	a.Name, a.Terminal = keys["Name"], keys["Terminal"] == "true"
	language, _, _ := strings.Cut(locale, ".")
	short, _, _ := strings.Cut(language, "_")
	for _, l := range []string{language, short} {
		if n := keys["Name["+l+"]"]; l != "" && n != "" {
			a.Name = n
			break
		}
	}
	words, err := splitExec(keys["Exec"])
	if err != nil {
		return App{}, err
	}
	a.Command, a.at, a.Opens = expandExec(words, a.Name, keys["Icon"])
	if len(a.Command) == 0 {
		return App{}, errors.New("entry has no program")
	}
	a.words = append(a.words, strings.ToLower(path.Base(a.Command[0])))
	return a, nil
}

// unescapeEntry decodes the escapes of string values.
func unescapeEntry(s string) string {
	return strings.NewReplacer(`\s`, " ", `\n`, "\n", `\t`, "\t", `\r`, "\r", `\\`, `\`).Replace(s)
}

// splitExec splits the value of Exec into words. A word may be in double quotes, in which a
// backslash escapes special characters.
func splitExec(s string) (out []string, err error) {
	var word strings.Builder
	quoted, any := false, false
	for i := 0; i < len(s); i++ {
		c := s[i]
		switch {
		case c == '"':
			quoted, any = !quoted, true
		case quoted && c == '\\' && i+1 < len(s) && strings.IndexByte("\"`$\\", s[i+1]) >= 0:
			i++
			word.WriteByte(s[i])
		case !quoted && (c == ' ' || c == '\t'):
			if any {
				out = append(out, word.String())
				word.Reset()
				any = false
			}
		default:
			word.WriteByte(c)
			any = true
		}
	}
	if quoted {
		return nil, errors.New("quote in Exec is not closed")
	}
	if any {
		out = append(out, word.String())
	}
	return out, nil
}

// expandExec replaces field codes with their values. It removes field codes for files and addresses
// and returns the position of the first of them.
func expandExec(words []string, name, icon string) (out []string, at int, what Opens) {
	for i, w := range words {
		switch {
		case i > 0 && w == "%i":
			if icon != "" {
				out = append(out, "--icon", icon)
			}
			continue
		case len(w) == 2 && w[0] == '%' && strings.IndexByte("fFuUdDnNvmk", w[1]) >= 0:
			if o := map[byte]Opens{'f': Files, 'F': Files, 'u': Addresses, 'U': Addresses}[w[1]]; o != Nothing && what == Nothing {
				at, what = len(out), o
			}
			continue
		}
		var b strings.Builder
		for j := 0; j < len(w); j++ {
			if w[j] != '%' || j+1 == len(w) {
				b.WriteByte(w[j])
				continue
			}
			j++
			switch w[j] {
			case '%':
				b.WriteByte('%')
			case 'c':
				b.WriteString(name)
			}
		}
		out = append(out, b.String())
	}
	return out, at, what
}

// listBundles lists the applications in a folder on macOS. It uses the names on disk, which differ
// from the displayed names only if the displayed names are translated.
func listBundles(dir string) (out []App) {
	list, err := os.ReadDir(dir)
	if err != nil {
		return nil
	}
	for _, e := range list[:min(len(list), 2000)] {
		name, ok := strings.CutSuffix(e.Name(), ".app")
		if !ok || name == "" {
			continue
		}
		out = append(out, App{
			ID: name, Name: name, File: filepath.Join(dir, e.Name()),
			Shared: strings.HasPrefix(dir, "/System/") || strings.HasPrefix(dir, "/Applications"),
			words:  []string{strings.ToLower(name)},
			Opens:  Addresses, // open(1) reports unsupported items
		})
	}
	return out
}

//go:embed startapps.ps1
var startMenuText string

// startScript returns the script that lists the start menu of Windows.
func startScript() osrun.Script { return osrun.NewScript("desktop/apps/startapps.ps1", startMenuText) }

// startMenuItem is an item of the start menu.
type startMenuItem struct {
	Name string `json:"name"`
	ID   string `json:"id"`
}

// startMenu reads the start menu.
func startMenu(ctx context.Context, r osrun.Runner) ([]App, error) { //nolint:unused // used on Windows
	var a struct {
		Apps []startMenuItem `json:"apps"`
	}
	if err := r.Run(ctx, osrun.Call{Script: startScript(), In: struct{}{}}, &a); err != nil {
		return nil, err
	}
	return menuApps(a.Apps), nil
}

func menuApps(items []startMenuItem) (list []App) {
	for _, x := range items {
		if x.Name != "" && x.ID != "" {
			list = append(list, App{ID: x.ID, Name: x.Name, Shared: sharedID(x.ID), words: []string{strings.ToLower(x.Name)}})
		}
	}
	return list
}

// sharedID reports whether an id belongs to a packaged application, or to a program in the Windows
// or Program Files folders, whose GUID (KNOWNFOLDERID) the id contains.
func sharedID(id string) bool {
	if strings.Contains(id, "!") || strings.HasPrefix(id, "Microsoft.") {
		return true
	}
	for _, folder := range []string{"{1AC14E77-02E7-4E5D-B744-2EB1AE5198B7}", "{6D809377-6AF0-444B-8957-A3773F02200E}", "{7C5A40EF-A0FB-4BFC-874A-C0F2E0B9FA8E}", "{F38BF404-1D43-42F2-9305-67DE0B28FC23}", "{D65231B0-B2F1-4857-A4CE-A8E7C6EA7D27}"} {
		if strings.HasPrefix(strings.ToUpper(id), folder) {
			return true
		}
	}
	return false
}
