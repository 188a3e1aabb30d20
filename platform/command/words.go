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

// Bounds of the expansion of one command's words.
const (
	maxFields  = 2000
	maxFolders = 200    // that are read for patterns
	maxEntries = 50_000 // in them
)

// unknown is why a word cannot be known before it runs.
type unknown struct{ why string }

func (u *unknown) Error() string { return u.why }

// fields expands a word as Bash would in the folder dir, when that can be known
// now: quotes, ~, braces, patterns over files, and $HOME and its like.
func (l *look) fields(dir string, words ...*syntax.Word) ([]string, error) {
	for _, w := range words {
		if why := l.dynamic(w.Parts, true); why != "" {
			return nil, &unknown{why}
		}
	}
	over := false
	cfg := &expand.Config{Env: expand.FuncEnviron(l.variable(dir)), ReadDir2: func(path string) ([]fs.DirEntry, error) {
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
			return nil, &unknown{"it cannot be expanded: " + err.Error()}
		}
		if len(out) >= maxFields {
			return nil, &unknown{"it expands to too many words"}
		}
		for _, r := range f {
			if hidden(r) || r == '\uFFFD' {
				return nil, &unknown{"a word of it holds a sign that cannot be seen"}
			}
		}
		out = append(out, f)
	}
	if over {
		return nil, &unknown{"a pattern fits too many files"}
	}
	return out, nil
}

// variable are the ones that are set by Hob when the command runs.
func (l *look) variable(dir string) func(string) string {
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

// dynamic says which part of a word is known only when it runs; "" when none is.
func (l *look) dynamic(parts []syntax.WordPart, outer bool) string {
	for i, p := range parts {
		switch p := p.(type) {
		case *syntax.Lit:
			if outer && i == 0 && strings.HasPrefix(p.Value, "~") && !ownHome(p.Value, len(parts) == 1) {
				return "~ with a name is another person's home"
			}
			if outer && strings.Contains(p.Value, "..") && strings.Contains(p.Value, "{") {
				return "a sequence in braces"
			}
		case *syntax.SglQuoted:
		case *syntax.DblQuoted:
			if p.Dollar {
				return "a translated string"
			}
			if why := l.dynamic(p.Parts, false); why != "" {
				return why
			}
		case *syntax.ParamExp:
			if why := l.parameter(p); why != "" {
				return why
			}
		case *syntax.CmdSubst:
			return "what a command inside $( ) prints is known only when it runs"
		case *syntax.ProcSubst:
			return "it runs a command inside <( )"
		case *syntax.ArithmExp:
			return "a calculation is known only when it runs"
		default:
			return "a part of it is known only when it runs"
		}
	}
	return ""
}

func ownHome(lit string, whole bool) bool {
	return lit == "~" && whole || strings.HasPrefix(lit, "~/")
}

func (l *look) parameter(p *syntax.ParamExp) string {
	plain := p.Param != nil && !p.Excl && !p.Length && !p.Width && !p.IsSet && p.Flags == nil && p.NestedParam == nil && p.Index == nil &&
		p.Slice == nil && p.Repl == nil && p.Exp == nil && p.Names == 0 && len(p.Modifiers) == 0
	if plain && (p.Param.Value == "HOME" || p.Param.Value == "PWD") && !l.assigned[p.Param.Value] {
		return ""
	}
	name := "a variable"
	if p.Param != nil {
		name = "$" + p.Param.Value
	}
	return "the value of " + name + " is known only when it runs"
}

// shape is a word as a pattern over files: what cannot be known fits everything.
func (l *look) shape(dir string, parts []syntax.WordPart, quoted bool) string {
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
			b.WriteString(l.shape(dir, p.Parts, true))
		case *syntax.ParamExp:
			if l.parameter(p) == "" {
				b.WriteString(l.variable(dir)(p.Param.Value))
				continue
			}
			b.WriteString("*")
		default:
			b.WriteString("*")
		}
	}
	return b.String()
}

// maxFits bounds the files that the shape of a word may stand for.
const maxFits = 500

// fits lists files that the shape of a word may stand for, some of them at most.
func (l *look) fits(shape string) []string {
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
			list, _ := os.ReadDir(dir) // what cannot be read cannot be shown by a command
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
