package file

import (
	"fmt"
	"path"
	"runtime"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// maxPatterns limits the number of patterns that the braces of a pattern expand to.
const maxPatterns = 100

// partialEndings are the suffixes of unfinished downloads and of bundles.
var partialEndings = []string{
	".part", ".partial", ".crdownload", ".download", ".opdownload", ".tmp", ".temp", ".aria2", ".!ut", ".filepart",
}

// scratchEndings are the suffixes of editors' swap, backup and lock files.
var scratchEndings = []string{"~", ".swp", ".swo", ".swx", ".swpx", ".kate-swp"}

// parsePatterns splits text at semicolons and commas outside of braces, and expands {a,b}.
func parsePatterns(text string) ([]string, error) {
	var out []string
	for _, part := range cutOutside(text, ";,") {
		part = strings.TrimSpace(part)
		if part == "" {
			continue
		}
		if strings.ContainsAny(part, "/") {
			return nil, fmt.Errorf(`file: the pattern %q contains a folder; patterns are names such as "*.pdf", and "recursive" includes the folders below`, part)
		}
		all, err := expandBraces(part)
		if err != nil {
			return nil, err
		}
		for _, p := range all {
			p = foldName(p)
			if _, err := path.Match(p, "x"); err != nil {
				return nil, fmt.Errorf("file: the pattern %q is not closed properly: %w", part, err)
			}
			if strings.HasPrefix(p, ".") && !strings.ContainsAny(p[1:], "*?[.") && len(p) > 1 {
				out = appendUnique(out, "*"+p) // ".pdf" also means "*.pdf"
			}
			out = appendUnique(out, p)
		}
		if len(out) > maxPatterns {
			return nil, fmt.Errorf("file: more than %d patterns", maxPatterns)
		}
	}
	return out, nil
}

func appendUnique(list []string, s string) []string {
	if s == "" || slices.Contains(list, s) {
		return list
	}
	return append(list, s)
}

// cutOutside splits text at the separators that are not inside braces.
func cutOutside(text, separators string) []string {
	var out []string
	depth, from := 0, 0
	for i := range len(text) {
		switch c := text[i]; {
		case c == '{':
			depth++
		case c == '}' && depth > 0:
			depth--
		case depth == 0 && strings.IndexByte(separators, c) >= 0:
			out = append(out, text[from:i])
			from = i + 1
		}
	}
	return append(out, text[from:])
}

// expandBraces expands "a{b,c}d" to "abd" and "acd". Braces may be nested.
func expandBraces(p string) ([]string, error) {
	open := strings.IndexByte(p, '{')
	if open < 0 {
		if strings.IndexByte(p, '}') >= 0 {
			return nil, fmt.Errorf("file: the pattern %q has a } without a {", p)
		}
		return []string{p}, nil
	}
	depth, end := 0, -1
	for i := open; i < len(p) && end < 0; i++ {
		switch p[i] {
		case '{':
			depth++
		case '}':
			if depth--; depth == 0 {
				end = i
			}
		}
	}
	if end < 0 {
		return nil, fmt.Errorf("file: the pattern %q has a { without a }", p)
	}
	var out []string
	for _, alt := range cutOutside(p[open+1:end], ",") {
		more, err := expandBraces(p[:open] + alt + p[end+1:])
		if err != nil {
			return nil, err
		}
		if out = append(out, more...); len(out) > maxPatterns {
			return nil, fmt.Errorf("file: the pattern %q expands to more than %d names", p, maxPatterns)
		}
	}
	return out, nil
}

// foldName returns the form of a name or pattern that is used for comparisons.
func foldName(s string) string {
	if !utf8.ValidString(s) {
		return strings.ToLower(s)
	}
	return strings.ToLower(norm.NFC.String(s))
}

// matchesName reports whether the watcher watches files of this name.
func (c settings) matchesName(name string) bool {
	folded := foldName(name)
	hidden := isIgnored(folded)
	if len(c.patterns) == 0 {
		return !hidden
	}
	for _, p := range c.patterns {
		if ok, _ := path.Match(p, folded); ok && (!hidden || namesIgnored(p, folded)) {
			return true
		}
	}
	return false
}

// namesIgnored reports whether a pattern deliberately matches a name that is otherwise ignored,
// because both have the same suffix or the same first character.
func namesIgnored(pattern, name string) bool {
	if strings.HasPrefix(name, ".") || strings.HasPrefix(name, "#") || strings.HasPrefix(name, "~") {
		return pattern[0] == name[0]
	}
	ext := path.Ext(name)
	return strings.HasSuffix(pattern, "~") || (ext != "" && path.Ext(pattern) == ext)
}

// isIgnored reports whether a folded name is a hidden, unfinished or scratch file.
func isIgnored(name string) bool {
	switch name {
	case "thumbs.db", "desktop.ini", "icon\r":
		return true
	}
	if strings.HasPrefix(name, ".") || strings.HasPrefix(name, "~$") ||
		(strings.HasPrefix(name, "#") && strings.HasSuffix(name, "#")) {
		return true
	}
	for _, e := range scratchEndings {
		if strings.HasSuffix(name, e) {
			return true
		}
	}
	return isUnfinished(name)
}

// isUnfinished reports whether a folded name has the suffix of an unfinished file.
func isUnfinished(name string) bool {
	for _, e := range partialEndings {
		if strings.HasSuffix(name, e) {
			return true
		}
	}
	return false
}

// rowKey returns the form in which file_seen contains a path. On file systems that treat two forms
// of a name as equal, the path is normalized.
func rowKey(rel string) string {
	if (runtime.GOOS == "darwin" || runtime.GOOS == "ios") && utf8.ValidString(rel) {
		return norm.NFC.String(rel)
	}
	return rel
}

// plainText makes a path or name safe for display on one line: it is valid UTF-8 without control
// characters and bidirectional formatting characters.
func plainText(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || unicode.Is(unicode.Cf, r) || r == '\u2028' || r == '\u2029' {
			return utf8.RuneError
		}
		return r
	}, strings.ToValidUTF8(s, string(utf8.RuneError)))
}
