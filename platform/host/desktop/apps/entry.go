package apps

import (
	"bufio"
	"errors"
	"io"
	"path"
	"strings"
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
				break // actions follow
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

// splitExec splits the key Exec into words: a word may be in double quotes, in which a
// backslash escapes the next character.
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

// expandExec replaces field codes by values. It removes those for files and addresses, and
// returns the position of the first of them.
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
