package files

import (
	"path"
	"strings"

	"hob/tools"
)

// glob is a compiled pattern. It supports alternatives separated by commas or in braces
// ("*.{pdf,docx}"), "*" and "?" within a name, and "**" for any number of folders. A pattern
// without a slash is compared with the name only. Case is ignored.
type glob struct{ alts [][]string }

// maxAlts limits the number of patterns that braces expand to.
const maxAlts = 64

func newGlob(pattern string) (glob, error) {
	pattern = strings.ToLower(strings.TrimSpace(strings.ReplaceAll(pattern, `\`, "/")))
	if pattern == "" {
		return glob{}, nil
	}
	var g glob
	for _, p := range expandBraces(pattern, maxAlts) {
		p = strings.TrimPrefix(strings.TrimSpace(p), "./")
		if p == "" {
			continue
		}
		if strings.HasPrefix(p, ".") && strings.Count(p, ".") == 1 && !strings.ContainsAny(p, "*?[/") && len(p) <= 6 {
			p = "*" + p // ".pdf" means "*.pdf"
		}
		parts := strings.Split(p, "/")
		for _, s := range parts {
			if _, err := path.Match(s, ""); err != nil {
				return g, tools.Errorf(tools.InvalidArguments, "the pattern %q cannot be read; examples: *.pdf, report-*.{doc,docx}, **/*.go", tools.Clean(pattern))
			}
		}
		g.alts = append(g.alts, parts)
	}
	return g, nil
}

// expandBraces expands {a,b} and splits at top-level commas.
func expandBraces(p string, limit int) []string {
	depth, start := 0, 0
	var parts []string
	for i, r := range p {
		switch {
		case r == '{':
			depth++
		case r == '}' && depth > 0:
			depth--
		case r == ',' && depth == 0:
			parts = append(parts, p[start:i])
			start = i + 1
		}
	}
	parts = append(parts, p[start:])
	var out []string
	for _, part := range parts {
		open := strings.IndexByte(part, '{')
		end := strings.IndexByte(part[max(open, 0):], '}') + max(open, 0)
		if open < 0 || end <= open {
			out = append(out, part)
			continue
		}
		for _, alt := range strings.Split(part[open+1:end], ",") {
			for _, x := range expandBraces(part[:open]+alt+part[end+1:], limit-len(out)) {
				if out = append(out, x); len(out) >= limit {
					return out
				}
			}
		}
	}
	return out[:min(len(out), max(limit, 1))]
}

// isMatch reports whether g matches a slash-separated path relative to the searched folder.
func (g glob) isMatch(rel string) bool {
	if len(g.alts) == 0 {
		return true
	}
	parts := strings.Split(strings.ToLower(rel), "/")
	for _, alt := range g.alts {
		if len(alt) == 1 && alt[0] != "**" {
			if ok, _ := path.Match(alt[0], parts[len(parts)-1]); ok {
				return true
			}
			continue
		}
		if matchParts(alt, parts) {
			return true
		}
	}
	return false
}

// matchParts reports whether pat matches parts. Its running time is proportional to the product of
// both lengths.
func matchParts(pat, parts []string) bool {
	can := make([]bool, len(parts)+1) // can[i] is true if the rest of pat matches parts[i:]
	can[len(parts)] = true
	for p := len(pat) - 1; p >= 0; p-- {
		next := make([]bool, len(parts)+1)
		for i := len(parts); i >= 0; i-- {
			if pat[p] == "**" {
				next[i] = can[i] || (i < len(parts) && next[i+1])
				continue
			}
			if i < len(parts) && can[i+1] {
				next[i], _ = path.Match(pat[p], parts[i])
			}
		}
		can = next
	}
	return can[0]
}

// hasHiddenPattern reports whether the pattern matches hidden names.
func (g glob) hasHiddenPattern() bool {
	for _, alt := range g.alts {
		if strings.HasPrefix(alt[len(alt)-1], ".") {
			return true
		}
	}
	return false
}
