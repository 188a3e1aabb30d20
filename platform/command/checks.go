package command

import (
	"runtime"
	"slices"
	"strings"
)

// check judges the arguments of a program whose options the table cannot say.
type check func(l *look, dir string, args []string) string

func checks() map[string]check {
	return map[string]check{
		"find": (*look).findArgs, "awk": (*look).awkArgs, "sed": (*look).sedArgs, "jq": (*look).jqArgs,
		"tar": (*look).tarArgs, "unzip": (*look).unzipArgs, "list": (*look).listArgs, "date": (*look).dateArgs, "ps": (*look).psArgs,
	}
}

// findArgs: what find may be asked. Anything else runs, deletes or writes, or
// is not known.
func (l *look) findArgs(dir string, args []string) string {
	alone := []string{
		"(", ")", "!", "-not", "-a", "-and", "-o", "-or", ",", "-print", "-print0", "-ls", "-prune", "-quit", "-empty", "-true", "-false", "-xdev", "-mount", "-depth", "-d",
		"-daystart", "-nouser", "-nogroup", "-readable", "-writable", "-executable", "-noleaf", "-ignore_readdir_race", "-E", "-P", "-x", "-s",
	}
	valued := []string{
		"-name", "-iname", "-path", "-ipath", "-wholename", "-iwholename", "-regex", "-iregex", "-regextype", "-lname", "-ilname", "-type", "-xtype", "-size", "-perm", "-user",
		"-group", "-uid", "-gid", "-links", "-inum", "-mtime", "-atime", "-ctime", "-mmin", "-amin", "-cmin", "-newermt", "-newerct", "-newerat", "-maxdepth", "-mindepth",
		"-printf", "-fstype", "-used", "-flags",
	}
	files := []string{"-newer", "-anewer", "-cnewer", "-samefile", "-newermm", "-neweram"}
	var paths []string
	for i := 0; i < len(args); i++ {
		a := args[i]
		switch {
		case slices.Contains(alone, a):
		case slices.Contains(valued, a) && i+1 < len(args):
			i++
		case slices.Contains(files, a) && i+1 < len(args):
			i++
			if why := l.reads(dir, args[i]); why != "" {
				return why
			}
		case strings.HasPrefix(a, "-"):
			return "find " + a + " is not known to look only"
		default:
			if why := l.reads(dir, a); why != "" {
				return why
			}
			paths = append(paths, a)
		}
	}
	return l.below(dir, paths)
}

// jqArgs: filters compute and print; modules would read further files.
func (l *look) jqArgs(dir string, args []string) string {
	e := &entry{name: "jq", short: map[byte]kind{}, long: map[string]option{}, operands: []kind{word, pathKind}, many: true}
	for _, w := range []string{
		"-rcnsSeajMC", "--raw-output", "--compact-output", "--null-input", "--slurp", "--sort-keys", "--exit-status", "--ascii-output", "--join-output",
		"--monochrome-output", "--color-output", "--tab", "--indent=num", "--raw-input", "-R", "--seq", "--stream", "--version", "--help",
	} {
		if err := e.add(w); err != nil {
			return err.Error()
		}
	}
	var rest []string
	for i := 0; i < len(args); i++ {
		if (args[i] == "--arg" || args[i] == "--argjson") && i+2 < len(args) {
			i += 2
			continue
		}
		rest = append(rest, args[i])
	}
	found, _, why := e.read(rest)
	if why != "" {
		return why
	}
	first := true
	for _, a := range found {
		switch {
		case a.kind == pathKind:
			if why := l.reads(dir, a.value); why != "" {
				return why
			}
		case a.kind == word && first:
			first = false
			for _, bad := range []string{"import", "include", "modulemeta", "input_filename", "$__", "get_search_list", "@sh"} {
				if strings.Contains(a.value, bad) {
					return "the filter of jq holds " + bad
				}
			}
		}
	}
	return ""
}

// tarArgs: an archive is listed. A name with a colon is on another machine.
func (l *look) tarArgs(dir string, args []string) string {
	if len(args) < 2 {
		return "tar is not known to look only with these arguments"
	}
	how := strings.TrimPrefix(args[0], "-")
	if how == "" || strings.Trim(how, "tvfzjJ") != "" || !strings.Contains(how, "t") || !strings.HasSuffix(how, "f") {
		return "tar " + args[0] + " is not known to look only"
	}
	if strings.Contains(args[1], ":") || strings.HasPrefix(args[1], "-") {
		return "tar with the archive " + args[1] + " is not known to look only"
	}
	for _, a := range args[2:] {
		if strings.HasPrefix(a, "-") || strings.HasPrefix(a, "@") {
			return "tar " + a + " is not known to look only"
		}
	}
	return l.reads(dir, args[1])
}

func (l *look) unzipArgs(dir string, args []string) string {
	if len(args) != 2 || !slices.Contains([]string{"-l", "-v", "-Z", "-Z1"}, args[0]) || strings.HasPrefix(args[1], "-") {
		return "unzip is known to look only as: unzip -l FILE"
	}
	return l.reads(dir, args[1])
}

// listArgs are those of compressors: -l and files.
func (l *look) listArgs(dir string, args []string) string {
	if len(args) < 2 || args[0] != "-l" && args[0] != "--list" {
		return "it is known to look only as: -l FILE"
	}
	for _, a := range args[1:] {
		if strings.HasPrefix(a, "-") {
			return a + " is not known to look only"
		}
		if why := l.reads(dir, a); why != "" {
			return why
		}
	}
	return ""
}

// dateArgs: an operand without "+" sets the clock.
func (l *look) dateArgs(_ string, args []string) string {
	for i := 0; i < len(args); i++ {
		a := args[i]
		switch {
		case strings.HasPrefix(a, "+"):
		case slices.Contains([]string{"-u", "--utc", "--universal", "-R", "--rfc-email", "-I", "-Iseconds", "-Iminutes", "-Ihours", "-Ins", "--iso-8601", "--help", "--version"}, a):
		case strings.HasPrefix(a, "--iso-8601="), strings.HasPrefix(a, "--rfc-3339="):
		case runtime.GOOS == "linux" && strings.HasPrefix(a, "--date="):
		case runtime.GOOS == "linux" && (a == "-d" || a == "--date") && i+1 < len(args):
			i++ // what follows is the date
		default:
			return "date " + a + " is not known to look only"
		}
	}
	return ""
}

// psArgs: "e" without a dash, and "-E", show the environment of processes.
func (l *look) psArgs(_ string, args []string) string {
	for i := 0; i < len(args); i++ {
		a := args[i]
		switch {
		case strings.HasPrefix(a, "--sort="), a == "--forest", a == "--no-headers":
		case slices.Contains([]string{"-o", "-O", "-p", "-u", "-U", "-C", "-g", "-t", "o", "p", "U"}, a) && i+1 < len(args):
			i++
			if strings.Contains(strings.ToLower(args[i]), "env") {
				return "ps would show the environment of processes"
			}
		case strings.HasPrefix(a, "-") && len(a) > 1 && strings.Trim(a[1:], "AaefFlLjTwxrcMmv") == "":
		case strings.Trim(a, "auxfljTwrcmv") == "":
		case strings.Trim(a, "0123456789,") == "":
		default:
			return "ps " + a + " is not known to look only"
		}
	}
	return ""
}
