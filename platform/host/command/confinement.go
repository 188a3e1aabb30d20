package command

import (
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// Need is the confinement that a listed command needs to run without approval.
type Need uint8

// Needs in ascending order.
const (
	NeedNothing   Need = iota // the command reads facts about this machine, or files that Hob opens for it
	NeedSandbox               // the program opens paths itself, so a sandbox must confine it
	NeedIsolation             // the program shows other processes, so a sandbox must hide them
)

// Meets reports whether the sandbox provides the confinement. Landlock and Seatbelt do not hide other
// processes.
func (s sandbox) Meets(n Need) bool {
	switch n {
	case NeedNothing:
		return true
	case NeedSandbox:
		return s.kind != ""
	case NeedIsolation:
		return s.kind == "bubblewrap"
	}
	return false
}

// Within returns the verdict for a command that runs in the sandbox s. If s does not meet the need
// of a listed command, the command is no longer Listed. If a command is listed because of s, its
// Exact states this, and its plan runs only in a sandbox.
func (v Verdict) Within(s sandbox) Verdict {
	switch {
	case !v.Listed || v.Plan.Needs == NeedNothing:
		return v
	case s.Meets(v.Plan.Needs):
		v.Exact += map[Need]string{NeedSandbox: " (in a sandbox only)", NeedIsolation: " (in a sandbox that hides other processes only)"}[v.Plan.Needs]
		return v
	}
	why := "the program opens paths itself, and no sandbox confines it: " + s.missing
	if v.Plan.Needs == NeedIsolation {
		why = "the command shows the arguments of other programs, including passwords"
	}
	v.Listed, v.Own, v.Pattern, v.Plan.Needs = false, false, "", NeedNothing
	v.Why = append(slices.Clone(v.Why), why)
	return v
}

// Handover describes how a step gets its files if there is no sandbox: Hob opens the files without
// following links and passes the open handles to the program.
type Handover struct {
	Args   []string `json:"args"`             // replaces the step's arguments
	Input  string   `json:"input,omitempty"`  // becomes standard input
	Files  []string `json:"files,omitempty"`  // become /dev/fd/3 and so on
	Folder string   `json:"folder,omitempty"` // becomes the working folder
}

// acceptedForm is a command line in a listed form.
type acceptedForm struct {
	form      parsedForm
	opens     fileOpening
	need      Need
	recursive bool
	listsIn   bool // a folder operand selects the entries of the folder
	inputArg  string
}

// accessNeed returns the confinement that a form needs and how its files are passed.
func (l *analysis) accessNeed(dir string, a acceptedForm) (Need, *Handover) {
	if a.need != NeedNothing || a.recursive || len(a.form.values) > 0 {
		return max(a.need, NeedSandbox), nil
	}
	var paths []int // indexes of operands that are paths
	for i, o := range a.form.operands {
		if o.kind == pathKind && o.value != "-" {
			paths = append(paths, i)
		}
	}
	switch {
	case a.opens == opensPaths, a.opens == opensNothing && len(paths) > 0:
		return NeedSandbox, nil
	case a.opens == opensEntries:
		return l.handEntries(dir, a)
	case len(paths) == 0:
		return NeedNothing, nil
	}
	first := len(a.form.args) - len(a.form.operands)
	h := &Handover{Args: slices.Clone(a.form.args)}
	for _, i := range paths {
		p := l.judge.resolvePlace(dir, a.form.operands[i].value)
		if !p.regular {
			return NeedSandbox, nil
		}
		if a.opens == opensInput && len(a.form.operands) == i+1 && len(paths) == 1 && !a.withInput(i) {
			h.Input, h.Args = p.abs, h.Args[:first+i]
			if a.inputArg != "" {
				h.Args = append(h.Args, a.inputArg)
			}
			return NeedNothing, h
		}
		h.Files = append(h.Files, p.abs)
		h.Args[first+i] = "/dev/fd/" + strconv.Itoa(2+len(h.Files))
	}
	if a.inputArg != "" {
		return NeedSandbox, nil // the program depends on the file's name
	}
	return NeedNothing, h
}

// withInput reports whether an operand before the nth is standard input.
func (a acceptedForm) withInput(n int) bool {
	return slices.ContainsFunc(a.form.operands[:n], func(o argument) bool { return o.kind == pathKind })
}

// handEntries passes a folder: the folder whose entries are listed, or the parent folder of all
// operands.
func (l *analysis) handEntries(dir string, a acceptedForm) (Need, *Handover) {
	operands := a.form.operands
	options := slices.Clone(a.form.args[:len(a.form.args)-len(operands)])
	if n := len(options); n > 0 && options[n-1] == "--" {
		options = options[:n-1]
	}
	if len(operands) == 0 {
		return NeedNothing, &Handover{Args: options, Folder: dir}
	}
	if len(operands) == 1 && a.listsIn && l.judge.resolvePlace(dir, operands[0].value).folder {
		return NeedNothing, &Handover{Args: options, Folder: l.judge.resolvePlace(dir, operands[0].value).abs}
	}
	h := &Handover{Args: options}
	if a.listsIn {
		h.Args = append(h.Args, "-d") // if an operand has become a folder since the check, the program does not enter it
	}
	h.Args = append(h.Args, "--")
	for _, o := range operands {
		p := l.judge.resolvePlace(dir, o.value)
		parent, name := filepath.Dir(p.abs), filepath.Base(p.abs)
		if last := filepath.Base(o.value); !p.exists || last != name || last == ".." || strings.HasSuffix(o.value, "/") || a.listsIn && !p.regular || h.Folder != "" && h.Folder != parent {
			return NeedSandbox, nil
		}
		h.Folder = parent
		h.Args = append(h.Args, name)
	}
	return NeedNothing, h
}
