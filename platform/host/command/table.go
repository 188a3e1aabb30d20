package command

import (
	_ "embed"
	"fmt"
	"runtime"
	"slices"
	"strings"
)

//go:embed programs.txt
var programTable string

// argumentKind is the meaning of an argument.
type argumentKind uint8

const (
	flag     argumentKind = iota + 1 // option without a value
	pathKind                         // path that the program reads
	text                             // may be a path on systems that parse options differently
	word                             // word that is never opened
	num                              // number with optional sign and unit
	digits                           // decimal digits only
)

// option is an option of a program.
type option struct {
	kind     argumentKind
	optional bool // the value is attached or absent
}

// optionStyle is how a program parses its options.
type optionStyle uint8

const (
	getoptStyle optionStyle = iota // getopt(3): letters can be bundled; values are attached or follow
	wordStyle                      // an option is one word, and its value is the next word
	flagStyle                      // like wordStyle, but letters without a value can be bundled
	gitStyle                       // like wordStyle, but values of long options follow only after "="
	plainStyle                     // no options
)

// fileOpening states how a program gets its files if there is no sandbox.
type fileOpening uint8

const (
	opensPaths   fileOpening = iota // the program opens them itself
	opensNothing                    // the program opens no files
	opensFiles                      // Hob opens regular files, and the program gets /dev/fd/N
	opensInput                      // like opensFiles; a single file becomes standard input
	opensEntries                    // Hob opens the folder, and the operands are names in it
)

// tableEntry is one line of the table.
type tableEntry struct {
	name      string
	style     optionStyle
	options   map[string]option // keyed by spelling, including dashes
	operands  []argumentKind
	many      bool // the last operand may be repeated
	number    bool // "-5" is an option
	check     string
	recurse   bool
	recurses  []string // options for recursive reading
	only      []string // allowed values if there is only one argument
	opens     fileOpening
	confines  []string // options that need a sandbox
	isolated  bool     // the program shows other processes
	isolates  []string // options that show other processes
	patternBy []string // options after which the first operand is a path
}

type commandTable struct{ entries map[string]*tableEntry }

// readTable parses programs.txt for this system. It panics on errors, because the file is part of this program.
func readTable() *commandTable { return parseTable(programTable, runtime.GOOS) }

func parseTable(source, system string) *commandTable {
	t := &commandTable{entries: map[string]*tableEntry{}}
	special := map[string]bool{}
	for line := range strings.Lines(source) {
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' {
			continue
		}
		fields := strings.Fields(line)
		name, only, bound := strings.Cut(fields[0], "@")
		if bound && only != system {
			continue
		}
		fields[0] = name
		e, err := parseEntry(fields, system)
		if err != nil {
			panic(fmt.Sprintf("command: %v in %q", err, line))
		}
		if !special[e.name] {
			t.entries[e.name] = e
		}
		special[e.name] = special[e.name] || bound
	}
	return t
}

func kindOf(s string) (argumentKind, error) {
	for k, n := range map[argumentKind]string{pathKind: "path", text: "text", word: "word", num: "num", digits: "digits"} {
		if s == n {
			return k, nil
		}
	}
	return 0, fmt.Errorf("unknown kind %q", s)
}

func parseEntry(f []string, system string) (*tableEntry, error) {
	e := &tableEntry{name: f[0], options: map[string]option{}}
	rest := f[1:]
	if e.name == "git" && !strings.HasPrefix(rest[0], "-") && rest[0] != "none" {
		e.name, rest = "git "+rest[0], rest[1:]
	}
	for _, w := range rest {
		if only, what, bound := strings.Cut(w, "/"); bound && (only == "linux" || only == "darwin") {
			if only != system {
				continue
			}
			w = what
		}
		if err := e.addWord(w); err != nil {
			return nil, err
		}
	}
	return e, nil
}

// addWord parses one word of a line.
func (e *tableEntry) addWord(w string) error {
	name, value, valued := strings.Cut(w, ":")
	switch {
	case w == "none":
	case w == "-#":
		e.number = true
	case strings.HasPrefix(w, "=-"):
		e.options[w[1:]] = option{kind: flag}
	case strings.HasPrefix(w, "--"):
		return e.addLong(w)
	case strings.HasPrefix(w, "-") && strings.HasSuffix(w, "]"):
		k, err := kindOf(strings.TrimSuffix(value, "]"))
		e.options[strings.TrimSuffix(name, "[")] = option{k, true}
		return err
	case strings.HasPrefix(w, "-") && valued:
		k, err := kindOf(value)
		e.options[name] = option{kind: k}
		return err
	case strings.HasPrefix(w, "-"):
		for i := 1; i < len(w); i++ {
			e.options["-"+w[i:i+1]] = option{kind: flag}
		}
	case e.addProperty(name, value, valued):
	default:
		w, e.many = strings.CutSuffix(w, "*")
		k, err := kindOf(w)
		e.operands = append(e.operands, k)
		return err
	}
	return nil
}

func (e *tableEntry) addLong(w string) error {
	name, k, valued := strings.Cut(w, "=")
	if !valued {
		e.options[w] = option{kind: flag}
		return nil
	}
	name, optional := strings.CutSuffix(name, "[")
	kind, err := kindOf(strings.TrimSuffix(k, "]"))
	e.options[name] = option{kind, optional}
	return err
}

// addProperty parses a property of the command, such as "recurse". It reports whether the property
// is known and valid.
func (e *tableEntry) addProperty(name, value string, valued bool) bool {
	list := strings.Split(value, ",")
	switch name {
	case "recurse":
		if e.recurse = !valued; valued {
			e.recurses = list
		}
	case "isolated":
		if e.isolated = !valued; valued {
			e.isolates = list
		}
	case "sandbox":
		e.confines = list
	case "pattern":
		e.patternBy = list
	case "check":
		e.check = value
	case "only":
		e.only = list
	case "style":
		s, ok := map[string]optionStyle{"words": wordStyle, "flags": flagStyle, "git": gitStyle, "plain": plainStyle}[value]
		e.style = s
		return ok
	case "opens":
		o, ok := map[string]fileOpening{"facts": opensNothing, "files": opensFiles, "input": opensInput, "entries": opensEntries}[value]
		e.opens = o
		return ok
	default:
		return false
	}
	return true
}

// operandKind returns the kind of the nth operand, or 0 if there is none.
func (e *tableEntry) operandKind(n int) argumentKind {
	switch {
	case n < len(e.operands):
		return e.operands[n]
	case e.many:
		return e.operands[len(e.operands)-1]
	}
	return 0
}

// findEntry returns the entry of a program, and the number of arguments that form the program's
// name.
func (t *commandTable) findEntry(args []string) (*tableEntry, int) {
	if args[0] == "git" && len(args) > 1 && !strings.HasPrefix(args[1], "-") {
		if slices.Equal(args[1:min(3, len(args))], []string{"stash", "list"}) {
			return t.entries["git stash-list"], 3
		}
		return t.entries["git "+args[1]], 2
	}
	return t.entries[args[0]], 1
}
