package command

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
)

// stepJudgement is what is found about one program of a plan.
type stepJudgement struct {
	why     string // what keeps it from being listed
	pattern string
	writes  bool
	network bool
}

// step resolves the program of a step and judges its arguments.
func (l *look) step(dir string, s *Step) stepJudgement {
	p := l.judge.find(dir, s.Args[0])
	s.Path = p.path
	if entry := l.allowed(s.Args); entry != nil && p.path != "" && (p.system || filepath.IsAbs(entry[0])) {
		return stepJudgement{pattern: strings.Join(entry, " ") + " *", writes: true, network: reaches(s.Args)}
	}
	switch {
	case !plainName(s.Args[0]):
		return stepJudgement{why: fmt.Sprintf("%q is a name that only looks like that of a program", s.Args[0])}
	case p.path == "":
		return stepJudgement{why: "there is no program " + s.Args[0]}
	}
	base := filepath.Base(s.Args[0])
	t := l.judge.table()
	if _, ok := t.entries[base]; !ok {
		return stepJudgement{why: base + " is not one of the programs that only look"}
	}
	if !p.system {
		return stepJudgement{why: p.path + " is not a program of the system"}
	}
	args := append([]string{base}, s.Args[1:]...)
	run := args
	if base == "git" {
		var why string
		if args, run, s.Env, why = l.git(dir, args); why != "" {
			return stepJudgement{why: why}
		}
	}
	e, used := t.known(args)
	if e == nil {
		return stepJudgement{why: strings.Join(args[:min(2, len(args))], " ") + " is not known to look only"}
	}
	if why := l.arguments(dir, e, args[used:]); why != "" {
		return stepJudgement{why: why}
	}
	s.Args = append([]string{s.Args[0]}, run[1:]...)
	return stepJudgement{pattern: e.name + " *"}
}

// plainName: letters of another script that look like "ls" are not "ls".
func plainName(name string) bool {
	for i := range len(name) {
		c := name[i]
		ok := c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || strings.IndexByte("._+-/[", c) >= 0
		if !ok {
			return false
		}
	}
	return true
}

// allowed returns the owner's entry that fits a program and its arguments.
func (l *look) allowed(args []string) []string {
	for _, entry := range l.judge.allow {
		if len(args) >= len(entry) && slices.Equal(args[:len(entry)], entry) {
			return entry
		}
	}
	return nil
}

// arguments judges the arguments of a program of the table. It says what keeps
// them from being harmless.
func (l *look) arguments(dir string, e *entry, args []string) string {
	if len(e.only) > 0 {
		if len(args) != 1 || !slices.Contains(e.only, args[0]) {
			return e.name + " is known to look only with " + strings.Join(e.only, " or ")
		}
		return ""
	}
	if e.check != "" {
		check, ok := checks()[e.check]
		if !ok {
			return e.name + " is not known to look only"
		}
		return check(l, dir, args)
	}
	found, recursive, why := e.read(args)
	if why != "" {
		return why
	}
	if i := slices.IndexFunc(args, func(a string) bool { return strings.HasPrefix(a, "@") }); i >= 0 && e.name == "strings" {
		return e.name + " would read its arguments from a file" // as all of binutils does (libiberty, expandargv)
	}
	var paths []string
	for _, a := range found {
		if strings.HasPrefix(a.value, "@") && a.kind != word {
			return a.value + " may stand for arguments in a file" // strings and its like
		}
		switch a.kind {
		case pathKind:
			if why := l.reads(dir, a.value); why != "" {
				return why
			}
			paths = append(paths, a.value)
		case text:
			if why := l.mayRead(dir, a.value); why != "" {
				return why
			}
			paths = append(paths, a.value)
		case word:
			if strings.Contains(a.value, "%G") || strings.Contains(a.value, "signature") && strings.HasPrefix(e.name, "git ") {
				return e.name + " would run a program to check a signature"
			}
		case flag, num:
		}
	}
	if recursive {
		return l.below(dir, paths)
	}
	return ""
}

// mayRead judges a text that some program could take for a path: it matters
// when something is there.
func (l *look) mayRead(dir, value string) string {
	if p := l.judge.place(dir, value); !p.exists && p.protected == "" {
		return ""
	}
	return l.reads(dir, value)
}

// below keeps a search through folders away from protected places in them.
func (l *look) below(dir string, paths []string) string {
	if len(paths) == 0 {
		paths = []string{"."}
	}
	for _, path := range append(paths, ".") {
		p := l.judge.place(dir, path)
		if !p.folder {
			continue
		}
		if held := l.judge.opt.Places.Holds(p.abs); held != "" {
			return "it goes through " + held + ", a protected place"
		}
	}
	return ""
}
