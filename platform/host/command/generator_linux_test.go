package command

import (
	"math/rand/v2"
	"slices"
	"strings"
)

// generator generates commands from the forms of the table.
type generator struct {
	rand  *rand.Rand
	table *commandTable
}

func (g *generator) pickOne(list ...string) string { return list[g.rand.IntN(len(list))] }

// pickPath returns an operand that has misled programs before.
func (g *generator) pickPath() string {
	return g.pickOne("notes.txt", "data.json", "victim.txt", "thesis.txt", "5", "zz", "x", "one", "with space.txt", "./-rf", "-rf", "-o", "--output=zz", "-exec", "@args", "./@args", "x=1", "[a].txt", "$(id).txt", "a;b", "sub", ".", "./sub/../notes.txt",
		"dirA", "dirB", "dirA/key", "dirB/n", "dirB/key", "sub/out", "sub/a.txt", "inward", "outward", "outdir", "a.tgz", "a.tar", "zz.gz", "nothing", "-", "00Tree.html", "args", "/etc/os-release", "sub/deep", "..", "/etc/passwd", "repo")
}

func (g *generator) pickValue(k argumentKind) string {
	switch k {
	case pathKind:
		return g.pickPath()
	case text:
		return g.pickOne("one", "zz", "victim.txt", "-e", "../other/x.txt", "a b", "*", "--output=zz", "HEAD", "notes.txt", "outward", "")
	case num:
		return g.pickOne("1", "5", "+2", "10k", "-3", "0", "16")
	case digits:
		return g.pickOne("1", "2", "5", "16")
	case word, flag:
	}
	return g.pickOne("x", "zz", "victim.txt", ",", "-", "5", "%s", "1,2", "auto", "name", "-o", "--output=zz", "../other/x.txt", "/etc/passwd", "a b", "w zz", "long", "@args", "")
}

// pickCommand returns a command with a random program. It may not be listed.
func (g *generator) pickCommand() string {
	names := make([]string, 0, len(g.table.entries))
	for name := range g.table.entries {
		if !slices.Contains([]string{"sleep", "vmstat", "top"}, name) { // these programs wait
			names = append(names, name)
		}
	}
	slices.Sort(names)
	e := g.table.entries[g.pickOne(names...)]
	switch {
	case len(e.only) > 0:
		return e.name + " " + g.pickOne(e.only...)
	case e.check != "":
		return g.pickChecked(e)
	}
	var args []string
	for range g.rand.IntN(4) {
		args = append(args, g.pickOption(e)...)
	}
	operands := []string{}
	count := len(e.operands)
	if e.many {
		count += g.rand.IntN(2)
	}
	for n := range count {
		if k := e.operandKind(n); g.rand.IntN(8) > 0 {
			operands = append(operands, g.pickValue(k))
		}
	}
	switch g.rand.IntN(6) {
	case 0:
		args = append(append(args, "--"), operands...)
	case 1: // options after the operands
		args = append(operands, args...)
	default:
		args = append(args, operands...)
	}
	if all := strings.Join(args, " "); e.name == "free" && strings.Contains(all, "s") || e.name == "shuf" && strings.Contains(all, "r") {
		return "" // the program would repeat its output
	}
	return g.joinWords(strings.Replace(e.name, "-list", " list", 1), args)
}

// joinWords joins the words of a command and quotes them. It sometimes leaves a word with a pattern
// unquoted.
func (g *generator) joinWords(name string, args []string) string {
	for _, a := range args {
		if strings.ContainsAny(a, "*[") && !strings.ContainsAny(a, " $;(") && g.rand.IntN(2) == 0 {
			name += " " + a
			continue
		}
		name += " " + quoteWord(a)
	}
	return name
}

// pickOption returns an option of an entry, spelled in a way that some parser may accept.
func (g *generator) pickOption(e *tableEntry) []string {
	names := make([]string, 0, len(e.options))
	for name := range e.options {
		names = append(names, name)
	}
	if len(names) == 0 {
		return nil
	}
	slices.Sort(names)
	name := g.pickOne(names...)
	o := e.options[name]
	v := g.pickValue(o.kind)
	switch {
	case o.kind == flag && len(name) == 2 && g.rand.IntN(2) == 0: // bundle two flags
		other := g.pickOne(names...)
		if len(other) != 2 {
			return []string{name}
		}
		if k := e.options[other].kind; k != flag {
			return []string{name + other[1:], g.pickValue(k)}
		}
		return []string{name + other[1:]}
	case o.kind == flag:
		return []string{name}
	case o.optional && g.rand.IntN(2) == 0:
		return []string{name}
	case strings.HasPrefix(name, "--") && g.rand.IntN(3) > 0:
		return []string{name + "=" + v}
	case g.rand.IntN(3) == 0:
		return []string{name + v}
	}
	return []string{name, v}
}

// pickChecked returns commands of programs whose forms are defined in code, with their words in random
// order.
func (g *generator) pickChecked(e *tableEntry) string {
	words := map[string][]string{
		"find":  {".", "sub", "dirB", "-name", "*.txt", "-type", "f", "-maxdepth", "2", "-newer", "notes.txt", "-print", "-print0", "-ls", "-empty", "-size", "+1k", "(", ")", "-o", "!", "-printf", "%p", "-mtime", "-7", "-delete", "-exec", "-fprint", "zz", "-samefile", "outward", "-path", "-prune", "-L", "-perm", "-u+x", "-regex", ".*"},
		"awk":   {"-F", ":", "-F,", "-v", "n=1", "{print $1}", "NR==1", "/one/", "END{print NR}", "{s+=$1} END {print s}", "{print > \"zz\"}", "BEGIN{getline x < \"zz\"}", "--", "-f", "$1 > 2", "{print length($0)}", "-i", "inplace"},
		"sed":   {"-n", "-E", "-ne", "-e", "1,2p", "s/one/two/", "p", "w zz", "s/a/b/w zz", "$=", "-i", "-s", "-z", "--", "y/abc/xyz/", "1d", "/one/,/two/p", "--quiet", "-i.bak", "--expression=p", "r outward", "R zz", "e id"},
		"jq":    {".", ".a", "-r", "-Rr", "-n", "-s", "--arg", "k", "v", "--argjson", "1", "--", "input", "inputs", "--indent", "2", "-c", ".b[]", "-f", "--slurpfile", "--rawfile", "-e", "keys", "-S", "--tab", "input_filename", "$k"},
		"test":  {"-f", "-d", "-e", "-z", "-n", "a", "b", "=", "-eq", "1", "2", "-a", "notes.txt", "outward", "-nt", "!", "(", ")", "-o", "]"},
		"tar":   {"tf", "-tf", "tvf", "tzf", "-tzf", "-tvf", "a.tar", "a.tgz", "notes.txt", "sub", "xf", "-x", "-f", "--to-command=sh", "-C", "--checkpoint=1", "tfO"},
		"unzip": {"-l", "-v", "-Z", "-Z1", "a.tar", "a.zip", "-o", "x", "-d", "sub"}, "list": {"-l", "--list", "zz.gz", "a.tgz", "-d", "-k", "notes.txt", "inward"},
		"date": {"+%F", "-u", "-R", "-I", "-d", "tomorrow", "--date=now", "-s", "--set=now", "01010000", "-r", "notes.txt", "-f", "--rfc-3339=date", "+%s"},
		"ps":   {"-e", "-A", "-o", "pid,comm", "pid,args", "-eo", "aux", "-ef", "e", "-axeww", "axeww", "--sort=-pcpu", "-p", "1", "-u", "root", "-C", "sh", "-f", "--forest", "-E", "pid,environ", "--no-headers", "x"},
	}[e.check]
	var args []string
	for range 1 + g.rand.IntN(5) {
		if g.rand.IntN(4) == 0 && !slices.Contains([]string{"date", "ps", "test"}, e.check) {
			args = append(args, g.pickPath())
		} else {
			args = append(args, g.pickOne(words...))
		}
	}
	return g.joinWords(e.name, args)
}
