package command

import (
	_ "embed"
	"fmt"
	"slices"
	"strings"
)

//go:embed programs.txt
var programs string

// kind is what an argument is to its program.
type kind uint8

const (
	flag     kind = iota + 1 // an option without a value
	pathKind                 // is read
	text                     // may be a path where another system reads options otherwise
	word                     // is never opened
	num
)

// option is one that a program may be given.
type option struct {
	kind     kind
	optional bool // its value comes after "=" or not at all
}

// entry is one line of the table.
type entry struct {
	name     string
	short    map[byte]kind
	long     map[string]option
	operands []kind
	many     bool // the last operand repeats
	number   bool // "-5" is an option
	check    string
	recurse  bool
	recurses []string // options that make it so
	only     []string // the one argument is one of these
}

type table struct{ entries map[string]*entry }

// readTable reads programs.txt. A mistake in it is one of this program.
func readTable() *table {
	t := &table{entries: map[string]*entry{}}
	for line := range strings.Lines(programs) {
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' {
			continue
		}
		e, err := readEntry(strings.Fields(line))
		if err != nil {
			panic(fmt.Sprintf("command: %v in %q", err, line))
		}
		t.entries[e.name] = e
	}
	return t
}

func kindOf(s string) (kind, error) {
	for k, n := range map[kind]string{pathKind: "path", text: "text", word: "word", num: "num"} {
		if s == n {
			return k, nil
		}
	}
	return 0, fmt.Errorf("%q is no kind", s)
}

func readEntry(f []string) (*entry, error) {
	e := &entry{name: f[0], short: map[byte]kind{}, long: map[string]option{}}
	rest := f[1:]
	if e.name == "git" && !strings.HasPrefix(rest[0], "-") && rest[0] != "none" {
		e.name, rest = "git "+rest[0], rest[1:]
	}
	for _, w := range rest {
		if err := e.add(w); err != nil {
			return nil, err
		}
	}
	return e, nil
}

func (e *entry) add(w string) error {
	name, value, valued := strings.Cut(w, ":")
	switch {
	case w == "none":
	case w == "-#":
		e.number = true
	case w == "recurse":
		e.recurse = true
	case name == "recurse":
		e.recurses = strings.Split(value, ",")
	case name == "check":
		e.check = value
	case name == "only":
		e.only = strings.Split(value, ",")
	case strings.HasPrefix(w, "--"):
		return e.addLong(w[2:])
	case strings.HasPrefix(w, "-") && valued:
		k, err := kindOf(value)
		e.short[name[1]] = k
		return err
	case strings.HasPrefix(w, "-"):
		for i := 1; i < len(w); i++ {
			e.short[w[i]] = flag
		}
	default:
		w, e.many = strings.CutSuffix(w, "*")
		k, err := kindOf(w)
		e.operands = append(e.operands, k)
		return err
	}
	return nil
}

func (e *entry) addLong(w string) error {
	name, k, valued := strings.Cut(w, "=")
	if !valued {
		e.long[w] = option{kind: flag}
		return nil
	}
	name, optional := strings.CutSuffix(name, "[")
	kind, err := kindOf(strings.TrimSuffix(k, "]"))
	e.long[name] = option{kind, optional}
	return err
}

// operand is the kind of the nth operand, 0 when there may be none.
func (e *entry) operand(n int) kind {
	switch {
	case n < len(e.operands):
		return e.operands[n]
	case e.many:
		return e.operands[len(e.operands)-1]
	}
	return 0
}

// argument is one that was understood.
type argument struct {
	kind  kind
	value string
}

// read understands arguments. why says what it does not know.
func (e *entry) read(args []string) (found []argument, recursive bool, why string) {
	recursive = e.recurse
	operands, ended := 0, false
	for i := 0; i < len(args); i++ {
		a := args[i]
		switch {
		case a == "-":
			operands++
			continue
		case a == "--" && !ended:
			ended = true
			continue
		case !ended && len(a) > 1 && a[0] == '-' && !e.plain():
			got, used, ok := e.option(args[i:], operands > 0)
			if !ok {
				return nil, false, fmt.Sprintf("%s %s is not known to look only", e.name, a)
			}
			i += used
			found = append(found, got...)
			recursive = recursive || e.isRecursive(a)
			continue
		}
		k := e.operand(operands)
		if k == 0 {
			return nil, false, fmt.Sprintf("%s with %q is not known to look only", e.name, a)
		}
		operands++
		found = append(found, argument{k, a})
	}
	return found, recursive, ""
}

// plain programs have no options: what looks like one is text.
func (e *entry) plain() bool {
	return len(e.short) == 0 && len(e.long) == 0 && !e.number && len(e.operands) == 1 && e.operands[0] == word && e.many
}

func (e *entry) isRecursive(a string) bool {
	for _, r := range e.recurses {
		if a == r || len(r) == 2 && !strings.HasPrefix(a, "--") && strings.Contains(a, r[1:]) {
			return true
		}
	}
	return false
}

// option understands the option at args[0], and says how many more arguments
// belong to it. late: operands came before it, and some systems then take its
// value for one more of them.
func (e *entry) option(args []string, late bool) (found []argument, used int, ok bool) {
	value := func(k kind, v string, attached bool) bool {
		if late && !attached && k == word {
			k = text
		}
		if k == num && !isNumber(v) {
			return false
		}
		found = append(found, argument{k, v})
		return true
	}
	a := args[0]
	if name, isLong := strings.CutPrefix(a, "--"); isLong {
		name, v, has := strings.Cut(name, "=")
		o, known := e.long[name]
		switch {
		case !known || o.kind == flag && has:
			return nil, 0, false
		case o.kind == flag || o.optional && !has:
			return nil, 0, true
		case has:
			ok = value(o.kind, v, true)
			return found, 0, ok
		case len(args) < 2:
			return nil, 0, false
		}
		ok = value(o.kind, args[1], false)
		return found, 1, ok
	}
	if e.number && strings.Trim(a[1:], "0123456789") == "" {
		return nil, 0, true
	}
	for i := 1; i < len(a); i++ {
		k, known := e.short[a[i]]
		switch {
		case !known:
			return nil, 0, false
		case k == flag:
			continue
		case i+1 < len(a):
			ok = value(k, a[i+1:], true)
			return found, 0, ok
		case len(args) < 2:
			return nil, 0, false
		}
		ok = value(k, args[1], false)
		return found, 1, ok
	}
	return nil, 0, true
}

// isNumber: with a sign and the letters of a unit, such as "+10" and "5k".
func isNumber(s string) bool {
	s = strings.TrimLeft(s, "+-")
	digits := strings.TrimLeft(s, "0123456789.")
	return len(digits) < len(s) && len(digits) <= 3 && strings.Trim(strings.ToLower(digits), "kmgtpeibsdh") == ""
}

// known returns the entry for a program, and how many arguments are its name.
func (t *table) known(args []string) (*entry, int) {
	if args[0] == "git" && len(args) > 1 && !strings.HasPrefix(args[1], "-") {
		if slices.Equal(args[1:min(3, len(args))], []string{"stash", "list"}) {
			return t.entries["git stash-list"], 3
		}
		return t.entries["git "+args[1]], 2
	}
	return t.entries[args[0]], 1
}
