package command

import (
	"runtime"
	"slices"
	"strings"
)

// psArgs accepts two kinds of forms. Forms that show names, numbers and times of processes are
// facts about this machine. Forms that show arguments may show passwords and need a sandbox without
// other processes. No other form is listed: ps has three parsers, in which one letter ("e") may
// select all processes or show their environments.
func (l *analysis) psArgs(_ string, args []string) (acceptedForm, string) {
	a := asWritten(args, opensNothing)
	names := runtime.GOOS == "linux" // the default columns on Linux; other systems show arguments
	full, sorts, format := false, false, ""
	for i := 0; i < len(args); i++ {
		w, value := args[i], ""
		if i+1 < len(args) {
			value = args[i+1]
		}
		switch {
		case slices.Contains([]string{"-e", "-A", "-c", "--forest", "--no-headers", "--no-heading"}, w):
			names = names || w == "-c" && runtime.GOOS == "darwin"
		case slices.Contains([]string{"aux", "auxf", "auxw", "auxww", "axu", "ax", "axf", "x", "xu", "ux", "u", "-aux", "-ef", "-eF", "-ely", "-el", "-f", "-fe", "-Af", "-eH", "-efH"}, w) && i == 0:
			full = true
		case w == "-eo" || w == "-o" || w == "-Ao" || w == "axo":
			if !psColumns(value) || format != "" {
				return acceptedForm{}, notListed("ps", w+" "+value)
			}
			format = value
			i++
		case strings.HasPrefix(w, "--sort=") && psColumns(strings.NewReplacer("-", "", "+", "").Replace(w[len("--sort="):])):
			sorts = true // procps 4 then reads the environment of every process, but does not print it
		case slices.Contains([]string{"-p", "-C", "-u", "-U", "-t"}, w) && plainWord(value):
			i++
		default:
			return acceptedForm{}, notListed("ps", w)
		}
	}
	if format != "" {
		names = !slices.ContainsFunc(columnsOf(format), func(c string) bool { return slices.Contains([]string{"args", "cmd", "command"}, c) })
	}
	switch {
	case full || !names:
		a.need = NeedIsolation
	case sorts:
		a.need = NeedSandbox
	}
	return a, ""
}

func columnsOf(list string) []string {
	columns := strings.Split(list, ",")
	for i, c := range columns {
		columns[i] = strings.TrimSuffix(c, "=")
	}
	return columns
}

// psColumns reports whether a list contains only columns that do not show the environment.
func psColumns(list string) bool {
	known := []string{
		"pid", "ppid", "pgid", "sid", "sess", "uid", "user", "euser", "ruser", "group", "gid", "pcpu", "%cpu", "cpu", "pmem", "%mem", "rss", "rsz", "vsz", "sz", "stat", "state", "s", "tty", "tt", "tname",
		"start", "stime", "lstart", "start_time", "etime", "etimes", "time", "cputime", "nice", "ni", "pri", "nlwp", "thcount", "psr", "wchan", "comm", "ucomm", "args", "cmd", "command",
	}
	for _, c := range columnsOf(list) {
		if !slices.Contains(known, c) {
			return false
		}
	}
	return list != ""
}

// plainWord reports whether s is a name or a list of numbers.
func plainWord(s string) bool {
	return s != "" && s[0] != '-' && strings.Trim(strings.ToLower(s), "abcdefghijklmnopqrstuvwxyz0123456789._-,/") == ""
}
