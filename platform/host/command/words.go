package command

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"mvdan.cc/sh/v3/expand"
	"mvdan.cc/sh/v3/syntax"
)

// Limits of the expansion of one command's words.
const (
	maxFields  = 2000
	maxFolders = 200    // folders read for patterns
	maxEntries = 50_000 // names read in these folders
)

// unknownWordError is the error for a word whose value is known only when the command runs.
type unknownWordError struct{ why string }

func (u *unknownWordError) Error() string { return u.why }

// expandFields expands a word as Bash would in the folder dir, if the result is known before the
// command runs: quotes, ~, braces, patterns for files, and variables such as $HOME.
func (l *analysis) expandFields(dir string, words ...*syntax.Word) ([]string, error) {
	for _, w := range words {
		if why := l.dynamicReason(w.Parts, true); why != "" {
			return nil, &unknownWordError{why}
		}
	}
	over := false
	cfg := &expand.Config{Env: expand.FuncEnviron(l.variableLookup(dir)), ReadDir2: func(path string) ([]fs.DirEntry, error) {
		if l.folders++; l.folders > maxFolders || l.entries > maxEntries {
			over = true
			return nil, errors.New("too many folders")
		}
		list, err := os.ReadDir(path)
		l.entries += len(list)
		if err == nil {
			l.expanded[filepath.Clean(path)] = digestNames(list)
		}
		return list, err
	}}
	var out []string
	for f, err := range expand.FieldsSeq(cfg, words...) {
		if err != nil {
			return nil, &unknownWordError{"expansion failed: " + err.Error()}
		}
		if len(out) >= maxFields {
			return nil, &unknownWordError{"the command expands to too many words"}
		}
		for _, r := range f {
			if isHiddenRune(r) || r == '\uFFFD' {
				return nil, &unknownWordError{"a word expands to an invisible character"}
			}
		}
		out = append(out, f)
	}
	if over {
		return nil, &unknownWordError{"a pattern matches too many files"}
	}
	return out, nil
}

// variableLookup returns a lookup for the variables that Hob sets when the command runs.
func (l *analysis) variableLookup(dir string) func(string) string {
	return func(name string) string {
		switch name {
		case "HOME":
			return l.judge.opt.Home
		case "PWD":
			return dir
		}
		return ""
	}
}

// dynamicReason returns the part of a word that is known only when the command runs, or "" if there
// is none.
func (l *analysis) dynamicReason(parts []syntax.WordPart, outer bool) string {
	for i, p := range parts {
		switch p := p.(type) {
		case *syntax.Lit:
			if outer && i == 0 && strings.HasPrefix(p.Value, "~") && !ownHome(p.Value, len(parts) == 1) {
				return "~ with a name is another user's home"
			}
			if outer && strings.Contains(p.Value, "..") && strings.Contains(p.Value, "{") {
				return "a brace sequence"
			}
		case *syntax.SglQuoted:
		case *syntax.DblQuoted:
			if p.Dollar {
				return "a translated string"
			}
			if why := l.dynamicReason(p.Parts, false); why != "" {
				return why
			}
		case *syntax.ParamExp:
			if why := l.parameterReason(p); why != "" {
				return why
			}
		case *syntax.CmdSubst:
			return "the output of a command inside $( ) is known only when the command runs"
		case *syntax.ProcSubst:
			return "the command runs another command inside <( )"
		case *syntax.ArithmExp:
			return "the result of a calculation is known only when the command runs"
		default:
			return "a part of the command is known only when it runs"
		}
	}
	return ""
}

func ownHome(lit string, whole bool) bool {
	return lit == "~" && whole || strings.HasPrefix(lit, "~/")
}

func (l *analysis) parameterReason(p *syntax.ParamExp) string {
	plain := p.Param != nil && !p.Excl && !p.Length && !p.Width && !p.IsSet && p.Flags == nil && p.NestedParam == nil && p.Index == nil &&
		p.Slice == nil && p.Repl == nil && p.Exp == nil && p.Names == 0 && len(p.Modifiers) == 0
	if plain && (p.Param.Value == "HOME" || p.Param.Value == "PWD") && !l.assigned[p.Param.Value] {
		return ""
	}
	name := "a variable"
	if p.Param != nil {
		name = "$" + p.Param.Value
	}
	return "the value of " + name + " is known only when the command runs"
}

// wordPattern converts a word to a file pattern in which unknown parts match everything.
func (l *analysis) wordPattern(dir string, parts []syntax.WordPart, quoted bool) string {
	var b strings.Builder
	for i, p := range parts {
		switch p := p.(type) {
		case *syntax.Lit:
			v := strings.ReplaceAll(p.Value, `\`, "")
			if i == 0 && !quoted && ownHome(v, len(parts) == 1) {
				v = l.judge.opt.Home + v[1:]
			}
			b.WriteString(v)
		case *syntax.SglQuoted:
			b.WriteString(p.Value)
		case *syntax.DblQuoted:
			b.WriteString(l.wordPattern(dir, p.Parts, true))
		case *syntax.ParamExp:
			if l.parameterReason(p) == "" {
				b.WriteString(l.variableLookup(dir)(p.Param.Value))
				continue
			}
			b.WriteString("*")
		default:
			b.WriteString("*")
		}
	}
	return b.String()
}

// maxFits limits the files that a word's pattern may match.
const maxFits = 500

// matchFiles lists files that match a word's pattern, up to a limit.
func (l *analysis) matchFiles(shape string) []string {
	if !strings.HasPrefix(shape, "/") {
		return nil
	}
	found := []string{"/"}
	for part := range strings.SplitSeq(strings.Trim(shape, "/"), "/") {
		var next []string
		for _, dir := range found {
			if !strings.ContainsAny(part, "*?[") {
				next = append(next, filepath.Join(dir, part))
				continue
			}
			if l.folders++; l.folders > maxFolders || len(next) > maxFits {
				break
			}
			list, _ := os.ReadDir(dir) // a command cannot list an unreadable folder either
			l.entries += len(list)
			for _, e := range list {
				if ok, err := filepath.Match(part, e.Name()); err == nil && ok && len(next) < maxFits {
					next = append(next, filepath.Join(dir, e.Name()))
				}
			}
		}
		found = next
	}
	return found
}
