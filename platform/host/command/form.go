package command

import (
	"fmt"
	"slices"
	"strings"
)

// argument is a parsed argument.
type argument struct {
	kind  argumentKind
	value string
}

// parsedForm is a parsed command line. It contains the meaning of the arguments, and the arguments
// to run the program with. Their order (options, then operands) has the same meaning for every
// option parser.
type parsedForm struct {
	found []argument
	// args are the final arguments. operands are the last part of args.
	args     []string
	operands []argument
	used     []string // the options that are set, in the table's spelling
	// values are the values of options that are paths.
	values []string
}

// notListed returns the reason for an argument without a listed form.
func notListed(name, arg string) string {
	return fmt.Sprintf("%s %s is not a listed form", name, arg)
}

// parseArgs parses args. why names an unknown argument.
func (e *tableEntry) parseArgs(args []string) (f parsedForm, why string) {
	var options, operands []string
	ended := false
	for i := 0; i < len(args); i++ {
		a := args[i]
		switch {
		case e.style == plainStyle, a == "-", ended, len(a) == 0 || a[0] != '-':
			operands = append(operands, a)
		case a == "--":
			if e.style == wordStyle || e.style == flagStyle {
				return f, notListed(e.name, a) // not all parsers of these styles support "--"
			}
			ended = true
		default:
			n, ok := e.parseOption(args[i:], &f)
			if !ok {
				return f, notListed(e.name, a)
			}
			options = append(options, args[i:i+n]...)
			i += n - 1
		}
	}
	f.args = e.reorderArgs(args, options, operands, ended)
	shift := 0
	if slices.ContainsFunc(f.used, func(o string) bool { return slices.Contains(e.patternBy, o) }) {
		shift = 1 // the pattern was given as an option
	}
	for n, a := range operands {
		k := e.operandKind(n + shift)
		if k == 0 || !fitsKind(k, a) {
			return f, fmt.Sprintf("%s with %q is not a listed form", e.name, a)
		}
		f.operands = append(f.operands, argument{k, a})
	}
	f.found = append(f.found, f.operands...)
	return f, ""
}

// reorderArgs puts the options first, because some parsers treat an option after an operand as an
// operand. It keeps the order of git's arguments, because "--" separates revisions from paths and
// options may follow revisions.
func (e *tableEntry) reorderArgs(args, options, operands []string, ended bool) []string {
	if e.style == gitStyle {
		return slices.Clone(args)
	}
	out := slices.Clone(options)
	if ended {
		out = append(out, "--")
	}
	return append(out, operands...)
}

// parseOption parses the option at args[0] and returns the number of arguments that belong to it.
func (e *tableEntry) parseOption(args []string, f *parsedForm) (used int, ok bool) {
	a := args[0]
	if e.number && strings.Trim(a[1:], "0123456789") == "" {
		return 1, true
	}
	name, value, attached := strings.Cut(a, "=")
	if !strings.HasPrefix(a, "--") {
		name, value, attached = a, "", false
	}
	o, known := e.options[name]
	switch {
	case !known && strings.HasPrefix(a, "--"):
		return 0, false
	case !known:
		return e.parseBundle(args, f)
	case attached && (o.kind == flag || e.style == wordStyle || e.style == flagStyle):
		return 0, false
	case o.kind == flag || o.optional && !attached:
		f.used = append(f.used, name)
		return 1, true
	case attached:
		return 1, f.addOption(name, o.kind, value)
	case e.style == gitStyle && strings.HasPrefix(a, "--"):
		return 0, false // git does not use the next word as the value of this option
	}
	return 2, e.parseSeparateValue(args, name, o.kind, f)
}

// parseSeparateValue uses the next word as the value of an option. It rejects a value that looks
// like an option.
func (e *tableEntry) parseSeparateValue(args []string, name string, k argumentKind, f *parsedForm) bool {
	if len(args) < 2 {
		return false
	}
	v := args[1]
	if strings.HasPrefix(v, "-") && v != "-" && !(k == num && e.style == getoptStyle) {
		return false
	}
	return f.addOption(name, k, v)
}

// parseBundle parses "-abc" and "-n5" for programs that support them.
func (e *tableEntry) parseBundle(args []string, f *parsedForm) (used int, ok bool) {
	a := args[0]
	for i := 1; i < len(a); i++ {
		name := "-" + a[i:i+1]
		o, known := e.options[name]
		switch {
		case !known || e.style == wordStyle || i > 1 && e.style == gitStyle:
			return 0, false
		case o.kind == flag:
			if e.style == gitStyle {
				return 0, false // git may not support this bundle
			}
			f.used = append(f.used, name)
			continue
		case e.style == flagStyle:
			return 0, false
		case o.optional && i+1 == len(a):
			f.used = append(f.used, name)
			return 1, true
		case i+1 < len(a):
			return 1, f.addOption(name, o.kind, a[i+1:])
		}
		return 2, e.parseSeparateValue(args, name, o.kind, f)
	}
	return 1, true
}

// addOption records an option with its value.
func (f *parsedForm) addOption(name string, k argumentKind, value string) bool {
	if !fitsKind(k, value) {
		return false
	}
	f.used = append(f.used, name)
	f.found = append(f.found, argument{k, value})
	if k == pathKind {
		f.values = append(f.values, value)
	}
	return true
}

// fitsKind reports whether a value is valid for its kind.
func fitsKind(k argumentKind, value string) bool {
	switch k {
	case num:
		return isNumber(value)
	case digits:
		return value != "" && len(value) <= 12 && strings.Trim(value, "0123456789") == ""
	}
	return true
}

// isNumber accepts a number with an optional sign and unit letters, such as "+10" and "5k".
func isNumber(s string) bool {
	s = strings.TrimLeft(s, "+-")
	digits := strings.TrimLeft(s, "0123456789.")
	return len(digits) < len(s) && len(digits) <= 3 && strings.Trim(strings.ToLower(digits), "kmgtpeibsdh") == ""
}

// hasAny reports whether one of the options was given.
func (f parsedForm) hasAny(options []string) bool {
	return slices.ContainsFunc(f.used, func(o string) bool { return slices.Contains(options, o) })
}
