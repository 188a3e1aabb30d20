package command

import (
	"runtime"
	"slices"
	"strings"
)

// argumentCheck parses the arguments of a program whose forms cannot be expressed in the table. why
// explains why they are not listed.
type argumentCheck func(l *analysis, dir string, args []string) (a acceptedForm, why string)

func argumentChecks() map[string]argumentCheck {
	return map[string]argumentCheck{
		"find": (*analysis).findArgs, "awk": (*analysis).awkArgs, "sed": (*analysis).sedArgs, "jq": (*analysis).jqArgs, "test": (*analysis).testArgs,
		"tar": (*analysis).tarArgs, "unzip": (*analysis).unzipArgs, "list": (*analysis).listArgs, "date": (*analysis).dateArgs, "ps": (*analysis).psArgs,
	}
}

// asWritten accepts arguments unchanged; the operands come last.
func asWritten(args []string, opens fileOpening, operands ...argument) acceptedForm {
	return acceptedForm{form: parsedForm{args: args, operands: operands, found: operands}, opens: opens}
}

// findArgs accepts the read-only tests and actions of find. All others run, delete, write, or are
// unknown. find opens folders itself, so it needs a sandbox.
func (l *analysis) findArgs(dir string, args []string) (acceptedForm, string) {
	alone := []string{
		"(", ")", "!", "-not", "-a", "-and", "-o", "-or", ",", "-print", "-print0", "-ls", "-prune", "-quit", "-empty", "-true", "-false", "-xdev", "-mount", "-depth", "-d",
		"-daystart", "-nouser", "-nogroup", "-readable", "-writable", "-executable", "-noleaf", "-ignore_readdir_race", "-P",
	}
	valued := []string{
		"-name", "-iname", "-path", "-ipath", "-wholename", "-iwholename", "-regex", "-iregex", "-regextype", "-lname", "-ilname", "-type", "-xtype", "-user",
		"-group", "-newermt", "-newerct", "-newerat", "-printf", "-fstype",
	}
	numbers := []string{"-size", "-perm", "-uid", "-gid", "-links", "-inum", "-mtime", "-atime", "-ctime", "-mmin", "-amin", "-cmin", "-maxdepth", "-mindepth"}
	files := []string{"-newer", "-anewer", "-cnewer", "-samefile", "-newermm", "-neweram"}
	var paths []string
	for i := 0; i < len(args); i++ {
		a, value := args[i], ""
		if i+1 < len(args) {
			value = args[i+1]
		}
		switch {
		case slices.Contains(alone, a):
		case slices.Contains(valued, a) && value != "" && value[0] != '-':
			i++
		case slices.Contains(numbers, a) && value != "" && strings.Trim(value, "+-/=0123456789bcwkMGugoarxst,") == "" && !slices.Contains([]string{"-a", "-o", "-s"}, value):
			i++
		case slices.Contains(files, a) && value != "" && value[0] != '-':
			i++
			if why := l.checkReadable(dir, value); why != "" {
				return acceptedForm{}, why
			}
		case strings.HasPrefix(a, "-"):
			return acceptedForm{}, notListed("find", a)
		default:
			if why := l.checkReadable(dir, a); why != "" {
				return acceptedForm{}, why
			}
			paths = append(paths, a)
		}
	}
	return asWritten(args, opensPaths), l.checkSearchFolders(dir, paths)
}

// jqArgs accepts separate or bundled flags, "--arg NAME VALUE", one filter, and then files. The
// parser of jq differs: after "--" older versions interpret all further arguments as a filter and
// files. Filters compute and print. Modules are rejected because they would read other files.
func (l *analysis) jqArgs(_ string, args []string) (acceptedForm, string) {
	long := []string{
		"--raw-output", "--compact-output", "--null-input", "--slurp", "--sort-keys", "--exit-status", "--ascii-output", "--join-output",
		"--monochrome-output", "--color-output", "--tab", "--raw-input", "--seq", "--stream", "--version", "--help",
	}
	valued := map[string]int{"--arg": 2, "--argjson": 2, "--indent": 1}
	var options, rest []string
	for i := 0; i < len(args); i++ {
		a := args[i]
		n, ok := valued[a]
		switch {
		case a == "-" || !strings.HasPrefix(a, "-"):
			rest = append(rest, a)
		case ok && i+n < len(args) && !slices.ContainsFunc(args[i+1:i+1+n], func(v string) bool { return strings.HasPrefix(v, "-") }):
			options = append(options, args[i:i+1+n]...)
			i += n
		case slices.Contains(long, a) || !strings.HasPrefix(a, "--") && strings.Trim(a[1:], "rcnsSeajMCR") == "":
			options = append(options, a)
		default:
			return acceptedForm{}, notListed("jq", a)
		}
	}
	if len(rest) == 0 {
		return asWritten(options, opensNothing), ""
	}
	for _, bad := range []string{"import", "include", "modulemeta", "input_filename", "$__", "get_search_list", "@sh"} {
		if strings.Contains(rest[0], bad) {
			return acceptedForm{}, "the jq filter contains " + bad
		}
	}
	operands := make([]argument, 0, len(rest))
	for _, file := range rest[1:] {
		operands = append(operands, argument{pathKind, file})
	}
	return asWritten(append(options, rest...), opensInput, operands...), ""
}

// testArgs accepts comparisons. For tests of files, test opens paths itself.
func (l *analysis) testArgs(dir string, args []string) (acceptedForm, string) {
	compares := []string{"-z", "-n", "-eq", "-ne", "-lt", "-le", "-gt", "-ge", "-a", "-o"}
	a := asWritten(args, opensNothing)
	for _, w := range args {
		if strings.HasPrefix(w, "-") && !slices.Contains(compares, w) && !isNumber(w) {
			a.opens = opensPaths
		}
	}
	if a.opens == opensNothing {
		return a, ""
	}
	for _, w := range args {
		if !strings.HasPrefix(w, "-") {
			if why := l.mayRead(dir, w); why != "" {
				return acceptedForm{}, why
			}
		}
	}
	return a, ""
}

// tarArgs accepts the listing of an archive. A name with a colon refers to another machine.
func (l *analysis) tarArgs(_ string, args []string) (acceptedForm, string) {
	if len(args) < 2 {
		return acceptedForm{}, "tar is allowed only as: tar tf FILE"
	}
	how := strings.TrimPrefix(args[0], "-")
	if how == "" || strings.Trim(how, "tvfzjJ") != "" || !strings.Contains(how, "t") || strings.Index(how, "f") != len(how)-1 {
		return acceptedForm{}, notListed("tar", args[0])
	}
	for i, a := range args[1:] {
		if strings.HasPrefix(a, "-") || i == 0 && strings.Contains(a, ":") || strings.HasPrefix(a, "@") {
			return acceptedForm{}, notListed("tar", a)
		}
	}
	operands := []argument{{pathKind, args[1]}}
	for _, member := range args[2:] {
		operands = append(operands, argument{word, member})
	}
	return asWritten(args, opensFiles, operands...), ""
}

func (l *analysis) unzipArgs(_ string, args []string) (acceptedForm, string) {
	if len(args) != 2 || !slices.Contains([]string{"-l", "-v", "-Z", "-Z1"}, args[0]) || strings.HasPrefix(args[1], "-") || strings.ContainsAny(args[1], "*?[") {
		return acceptedForm{}, "unzip is allowed only as: unzip -l FILE"
	}
	return asWritten(args, opensFiles, argument{pathKind, args[1]}), ""
}

// listArgs accepts -l and files, for compressors.
func (l *analysis) listArgs(_ string, args []string) (acceptedForm, string) {
	if len(args) < 2 || args[0] != "-l" && args[0] != "--list" {
		return acceptedForm{}, "only this form is allowed: -l FILE"
	}
	var operands []argument
	for _, a := range args[1:] {
		if strings.HasPrefix(a, "-") {
			return acceptedForm{}, a + " is not a listed form"
		}
		operands = append(operands, argument{pathKind, a})
	}
	return asWritten(args, opensPaths, operands...), "" // compressors interpret the suffix of a file name and try other names
}

// dateArgs rejects operands that do not start with "+", because they set the clock.
func (l *analysis) dateArgs(_ string, args []string) (acceptedForm, string) {
	for i := 0; i < len(args); i++ {
		a := args[i]
		switch {
		case strings.HasPrefix(a, "+"):
		case slices.Contains([]string{"-u", "--utc", "--universal", "-R", "--rfc-email", "-I", "-Iseconds", "-Iminutes", "-Ihours", "-Ins", "--iso-8601", "--help", "--version"}, a):
		case strings.HasPrefix(a, "--iso-8601="), strings.HasPrefix(a, "--rfc-3339="):
		case runtime.GOOS == "linux" && strings.HasPrefix(a, "--date="):
		case runtime.GOOS == "linux" && (a == "-d" || a == "--date") && i+1 < len(args) && !strings.HasPrefix(args[i+1], "-"):
			i++ // the next argument is the date
		default:
			return acceptedForm{}, notListed("date", a)
		}
	}
	return asWritten(args, opensNothing), ""
}
