package command

import (
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// Plan describes how a command runs: as a list of pipelines without a shell, or as a script for a
// shell.
type Plan struct {
	Dir   string `json:"dir"`
	Lines []Line `json:"lines,omitempty"`
	Shell string `json:"shell,omitempty"`
	// Network and Writes are the accesses that the sandbox allows.
	Network bool `json:"network,omitempty"`
	Writes  bool `json:"writes,omitempty"`
	// Needs is the confinement that a listed command needs.
	Needs Need `json:"needs,omitempty"`
	// Hidden means that only the system and the allowed folders are visible.
	Hidden bool `json:"hidden,omitempty"`
	// Digests maps the paths of programs and of the code that they read to their digests, except
	// for files that only the administrator can change. "absent" marks files that would be read if
	// they existed. Folders maps folders in which a shell expands patterns to the digests of the
	// names in them.
	Digests map[string]string `json:"digests,omitempty"`
	Folders map[string]string `json:"folders,omitempty"`
}

// Line is a pipeline with its condition: always (""), or only if the previous one succeeded ("&&")
// or failed ("||").
type Line struct {
	When  string `json:"when,omitempty"`
	Not   bool   `json:"not,omitempty"`
	Dir   string `json:"dir"`
	Steps []Step `json:"steps"`
}

// Step is one program.
type Step struct {
	Path string   `json:"path"`
	Args []string `json:"args"` // including the program's name as written
	Env  []string `json:"env,omitempty"`
	// In is a file that becomes standard input. Out and Err are the targets of standard output and
	// standard error: "" is unchanged, "null" is /dev/null, and "out" and "err" are the target of
	// the other output.
	In  string `json:"in,omitempty"`
	Out string `json:"out,omitempty"`
	Err string `json:"err,omitempty"`
	// Hand describes how the step gets its files if there is no sandbox.
	Hand *Handover `json:"hand,omitempty"`
}

// planCommand builds the plan, and marks the command as listed if all its programs are listed.
func (l *analysis) planCommand() {
	v := &l.verdict
	v.Plan.Dir = l.dir
	listed, direct := true, true
	dir := l.dir
	var lines []Line
	for i, s := range l.file.Stmts {
		when := ""
		if i > 0 {
			when = ";"
		}
		ok, why := l.planStatement(s, when, &dir, &lines)
		if !ok {
			direct = false
			l.noteObjection(why)
		}
	}
	if direct && !slices.ContainsFunc(lines, func(n Line) bool { return len(n.Steps) > 0 }) {
		direct = false
		l.noteObjection("the command runs no program")
	}
	patterns, own := []string{}, direct
	if direct {
		for i := range lines {
			for k := range lines[i].Steps {
				j := l.judgeStep(lines[i].Dir, &lines[i].Steps[k])
				patterns = append(patterns, j.pattern)
				listed = listed && j.why == ""
				own = own && ownWords(lines[i].Steps[k])
				v.Writes = v.Writes || j.writes
				v.Plan.Needs = max(v.Plan.Needs, j.need)
				if j.why != "" {
					l.noteObjection(j.why)
				}
				v.Plan.Network = v.Plan.Network || j.network
			}
		}
		v.Plan.Lines = lines
	} else {
		v.Plan.Shell = l.cmd.Text
	}
	v.Listed = direct && listed && len(v.Why) == 0 && v.Refused == nil && !v.Egress && !v.Send && !v.Destroy
	v.Own = v.Listed && own && !strings.ContainsAny(l.cmd.Text, "*?[") // file names from patterns are not Hob's own text
	v.Plan.Hidden = v.Listed && !v.Writes && (!v.Own || v.Plan.Needs != NeedNothing)
	if v.Listed && len(patterns) == 1 {
		v.Pattern = patterns[0]
	}
	if !v.Listed {
		v.Writes, v.Plan.Needs = true, NeedNothing
		for _, a := range l.asides {
			l.noteObjection(a)
		}
	}
	v.Plan.Writes, v.Plan.Network = v.Writes, v.Plan.Network || v.Egress || v.Send
}

// ownWords reports whether a program's output describes only this machine or the program's
// arguments. Such a program reads and names no file.
func ownWords(s Step) bool {
	return s.In == "" && slices.Contains([]string{
		"date", "cal", "uname", "arch", "nproc", "whoami", "id", "uptime", "free", "df", "echo", "printf", "seq", "expr", "factor", "true", "false", "sleep", "basename", "dirname", "tty", "env", "printenv", "lscpu",
	}, s.Args[0])
}

// planStatement adds the pipelines of a statement. dir is updated by "cd".
func (l *analysis) planStatement(s *syntax.Stmt, when string, dir *string, out *[]Line) (bool, string) {
	if s.Background || s.Coprocess || s.Disown {
		return false, "the command continues in the background"
	}
	b, ok := s.Cmd.(*syntax.BinaryCmd)
	if ok && (b.Op == syntax.AndStmt || b.Op == syntax.OrStmt) {
		if s.Negated || len(s.Redirs) > 0 {
			return false, "the command needs a shell"
		}
		if ok, why := l.planStatement(b.X, when, dir, out); !ok {
			return false, why
		}
		return l.planStatement(b.Y, b.Op.String(), dir, out)
	}
	if c, ok := s.Cmd.(*syntax.CallExpr); ok && len(c.Args) > 0 && c.Args[0].Lit() == "cd" {
		return l.planCd(s, c, when, dir, out)
	}
	line := Line{When: strings.TrimPrefix(when, ";"), Dir: *dir, Not: s.Negated}
	if ok, why := l.planPipeline(s, *dir, &line, true); !ok {
		return false, why
	}
	*out = append(*out, line)
	return true, ""
}

// planCd updates the folder for "cd FOLDER" if cd cannot fail: the folder exists, and the condition
// is not "||".
func (l *analysis) planCd(s *syntax.Stmt, c *syntax.CallExpr, when string, dir *string, out *[]Line) (bool, string) {
	if len(c.Args) != 2 || len(c.Assigns) > 0 || len(s.Redirs) > 0 || s.Negated || when == "||" || when == "&&" {
		return false, "its cd command needs a shell"
	}
	f, err := l.expandFields(*dir, c.Args[1])
	if err != nil || len(f) != 1 || f[0] == "" || strings.HasPrefix(f[0], "-") {
		return false, "the folder of cd is known only when the command runs"
	}
	p := l.judge.resolvePlace(*dir, f[0])
	if p.protected != "" {
		l.refuseProtected(p)
	}
	if !p.inside || !p.folder {
		return false, "the command enters " + f[0] + ", which is outside the allowed folders"
	}
	*dir = p.abs
	*out = append(*out, Line{When: strings.TrimPrefix(when, ";"), Dir: p.abs})
	return true, ""
}

// planPipeline adds the steps of "a | b | c".
func (l *analysis) planPipeline(s *syntax.Stmt, dir string, line *Line, first bool) (bool, string) {
	switch c := s.Cmd.(type) {
	case *syntax.BinaryCmd:
		if c.Op != syntax.Pipe || len(s.Redirs) > 0 || !first && s.Negated {
			return false, "the command needs a shell"
		}
		if ok, why := l.planPipeline(c.X, dir, line, first); !ok {
			return false, why
		}
		return l.planPipeline(c.Y, dir, line, false)
	case *syntax.CallExpr:
		if s.Background || s.Coprocess || s.Disown || s.Negated && !first {
			return false, "the command needs a shell"
		}
		return l.planSimple(s, c, dir, line)
	}
	return false, "the command uses shell syntax that cannot be analyzed"
}

func (l *analysis) planSimple(s *syntax.Stmt, c *syntax.CallExpr, dir string, line *Line) (bool, string) {
	if len(c.Assigns) > 0 {
		return false, "the command sets a variable"
	}
	if len(c.Args) == 0 {
		return false, "the command runs no program"
	}
	args, err := l.expandFields(dir, c.Args...)
	if err != nil {
		return false, expansionReason(err)
	}
	if len(args) == 0 || args[0] == "" {
		return false, "the program is known only when the command runs"
	}
	if inShell(args[0]) {
		return false, args[0] + " is a shell builtin"
	}
	step := Step{Args: args}
	for _, r := range s.Redirs {
		if ok, why := l.planRedirect(r, dir, &step); !ok {
			return false, why
		}
	}
	line.Steps = append(line.Steps, step)
	return true, ""
}

// inShell reports whether only a shell can run the command name.
func inShell(name string) bool {
	return slices.Contains([]string{
		".", "source", "eval", "exec", "export", "readonly", "declare", "typeset", "local", "set", "unset", "shopt", "alias", "unalias", "trap", "return", "exit", "break", "continue",
		"shift", "read", "mapfile", "readarray", "let", "builtin", "command", "type", "hash", "enable", "bind", "complete", "compgen", "compopt", "ulimit", "umask", "wait", "jobs", "fg", "bg",
		"disown", "suspend", "logout", "history", "fc", "pushd", "popd", "dirs", "times", "getopts", "caller", "help", "cd", "coproc", "time",
	}, name)
}

// planRedirect accepts redirections that do not need a shell: to /dev/null, from a file, and
// between the two outputs. All other redirections have already been recorded as writes.
func (l *analysis) planRedirect(r *syntax.Redirect, dir string, s *Step) (bool, string) {
	const needs = "the command needs a shell for its redirections"
	fd := "1"
	if r.N != nil {
		fd = r.N.Value
	}
	if r.Word == nil {
		return false, needs
	}
	words, err := l.expandFields(dir, r.Word)
	if err != nil || len(words) != 1 {
		return false, "the target of a redirection is known only when the command runs"
	}
	target := words[0]
	switch {
	case r.Op == syntax.RdrIn && (r.N == nil || fd == "0"):
		if target != "/dev/null" {
			if why := l.checkReadable(dir, target); why != "" {
				return false, why
			}
			s.In = l.judge.resolvePlace(dir, target).abs
		} else {
			s.In = target
		}
	case (r.Op == syntax.RdrOut || r.Op == syntax.AppOut || r.Op == syntax.RdrClob) && target == "/dev/null" && fd == "1":
		s.Out = "null"
	case (r.Op == syntax.RdrOut || r.Op == syntax.AppOut || r.Op == syntax.RdrClob) && target == "/dev/null" && fd == "2":
		s.Err = "null"
	case (r.Op == syntax.RdrAll || r.Op == syntax.AppAll) && target == "/dev/null":
		s.Out, s.Err = "null", "null"
	case r.Op == syntax.DplOut && fd == "2" && target == "1":
		s.Err = s.Out
		if s.Err == "" {
			s.Err = "out"
		}
	case r.Op == syntax.DplOut && fd == "1" && target == "2" && s.Err == "":
		s.Out = "err"
	default:
		return false, needs
	}
	return true, ""
}

// checkReadable returns the reason why a listed command may not read a path, or "" if it may.
func (l *analysis) checkReadable(dir, path string) string {
	p := l.judge.resolvePlace(dir, path)
	switch {
	case p.protected != "":
		l.refuseProtected(p)
		return path + " is a protected path"
	case openToAll(p.abs):
		return ""
	case !p.inside:
		return path + " is outside the allowed folders"
	case p.many:
		return path + " has other hard links"
	case p.exists && !p.folder && !p.regular:
		return path + " is a device, a pipe or a socket"
	}
	return ""
}
