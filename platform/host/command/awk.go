package command

import (
	"cmp"
	"slices"
	"strings"
)

// awkArgs accepts -F and -v, a program that only computes and prints, and files.
func (l *analysis) awkArgs(_ string, args []string) (acceptedForm, string) {
	for i := 0; i < len(args); i++ {
		a := args[i]
		switch {
		case (a == "-F" || a == "-v") && i+1 < len(args):
			i++
			continue
		case (strings.HasPrefix(a, "-F") || strings.HasPrefix(a, "-v")) && len(a) > 2:
			continue
		case a == "--" && i+1 < len(args):
			i++
			a = args[i]
		case strings.HasPrefix(a, "-"):
			return acceptedForm{}, notListed("awk", a)
		}
		if why := awkProgram(a); why != "" || strings.HasPrefix(a, "-") {
			return acceptedForm{}, cmp.Or(why, notListed("awk", a))
		}
		var files []argument
		for _, file := range args[i+1:] {
			if strings.HasPrefix(file, "-") && file != "-" {
				return acceptedForm{}, notListed("awk", file) // some versions of awk also parse options that follow the program
			}
			files = append(files, argument{pathKind, file})
		}
		return asWritten(args, opensFiles, files...), ""
	}
	return acceptedForm{}, "awk program is missing"
}

// awkProgram returns why an awk program may do more than compute and print: it runs programs, opens
// files, or uses unknown names. A slash can start a pattern or mean division. If that is ambiguous,
// the program is not listed.
func awkProgram(src string) string {
	small := []string{"system", "getline", "close", "fflush"}
	large := []string{"NR", "NF", "FNR", "FS", "OFS", "ORS", "RS", "FILENAME", "BEGIN", "END", "SUBSEP", "RSTART", "RLENGTH", "IGNORECASE", "OFMT", "CONVFMT", "FIELDWIDTHS", "FPAT"}
	src = strings.TrimPrefix(src, leadingPattern(src))
	for _, name := range letterRuns(src) {
		if slices.Contains(small, name) || strings.ToLower(name) != name && !slices.Contains(large, name) {
			return "the awk program contains " + name
		}
	}
	if strings.Contains(src, "@") {
		return "the awk program contains @"
	}
	if strings.Contains(src, "\\\n") {
		return "the awk program continues a line with a backslash"
	}
	if !strings.ContainsAny(src, "|>") {
		return "" // the program contains no character that opens a file or runs a program
	}
	return awkCompares(src)
}

// leadingPattern returns a plain pattern at the start of a program, such as "/ERROR/". At this
// position a slash cannot mean division, and the pattern contains no names.
func leadingPattern(src string) string {
	if !strings.HasPrefix(src, "/") {
		return ""
	}
	end := strings.IndexByte(src[1:], '/') + 2
	if end < 2 || strings.ContainsFunc(src[1:end-1], func(r rune) bool {
		return !(r == ' ' || r == '_' || r == '-' || r == ':' || r == '^' || r == '$' || r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z')
	}) {
		return ""
	}
	return src[:end]
}

// awkCompares accepts a program with | or > only if they mean "or" and "greater than": > outside of
// braces, where nothing is printed, or in parentheses. It rejects a slash that may start a pattern,
// in which other characters have other meanings.
func awkCompares(src string) string {
	const why = "the awk program may write files or run programs"
	round, curly := 0, 0
	for i := 0; i < len(src); i++ {
		switch src[i] {
		case '"':
			if i = awkString(src, i); i < 0 {
				return why
			}
		case '#', '\\', '/', '\'':
			return why
		case '(':
			round++
		case ')':
			round--
		case '{':
			curly++
		case '}':
			curly--
		case '|':
			if i++; i >= len(src) || src[i] != '|' {
				return why
			}
		case '>':
			if curly > 0 && round <= 0 || curly < 0 {
				return why
			}
		}
	}
	return ""
}

func awkString(src string, i int) int {
	for i++; i < len(src); i++ {
		switch src[i] {
		case '\\':
			i++
		case '"':
			return i
		case '\n':
			return -1
		}
	}
	return -1
}

// letterRuns returns the runs of letters in src.
func letterRuns(src string) []string {
	return strings.FieldsFunc(src, func(r rune) bool {
		return !(r == '_' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9')
	})
}
