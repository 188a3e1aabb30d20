package main

import (
	"embed"
	"strings"
	"unicode"

	"github.com/charmbracelet/x/ansi"
	"github.com/spf13/cobra"
)

// helpTexts holds the files help/COMMAND.md. Each contains the long text of a command and, below a
// line "---", its examples.
//
//go:embed help/*.md
var helpTexts embed.FS

// firstSteps is the output of hob without arguments.
//
//go:embed help/first.txt
var firstSteps string

// maxHelpWidth is the width of help texts on wide terminals; longer lines are hard to read.
const maxHelpWidth = 100

// helpOf makes `hob help WORD` fail for an unknown command.
func helpOf(root *cobra.Command) {
	root.InitDefaultHelpCmd()
	for _, c := range root.Commands() {
		if c.Name() != "help" {
			continue
		}
		c.RunE = func(_ *cobra.Command, args []string) error {
			topic, rest, err := root.Find(args)
			switch {
			case err != nil:
				return err
			case len(rest) > 0 && topic.HasSubCommands():
				return topic.RunE(topic, rest)
			}
			topic.InitDefaultHelpFlag()
			return topic.Help()
		}
	}
}

// addHelpTexts sets the long descriptions and examples of a command and its subcommands.
func addHelpTexts(c *cobra.Command, name string) {
	if b, err := helpTexts.ReadFile("help/" + strings.ReplaceAll(name, " ", "_") + ".md"); err == nil {
		long, examples, _ := strings.Cut(string(b), "\n---\n")
		c.Long = strings.TrimSpace(long)
		c.Example = strings.TrimRight(examples, "\n")
	}
	countWords(c)
	for _, sub := range c.Commands() {
		addHelpTexts(sub, name+" "+sub.Name())
	}
}

// wrapHelp returns the help of a command for a window of a number of columns. Without a window (0),
// each line is complete, as lists are in a pipe. Examples are never wrapped, so that they can be copied.
func wrapHelp(c *cobra.Command, window int) string {
	about := strings.TrimSpace(c.Long)
	if about == "" {
		about = c.Short
	}
	if window == 0 {
		return about + "\n\n" + c.UsageString()
	}
	width := max(min(window, maxHelpWidth), 2*minContent)
	var b strings.Builder
	for _, line := range joinHelpLines(about) {
		b.WriteString(wrapHelpLine(line, width))
	}
	b.WriteString("\n")
	examples := false
	for line := range strings.Lines(c.UsageString()) {
		if !strings.HasPrefix(line, " ") {
			examples = strings.HasPrefix(line, "Examples:")
		}
		if !examples {
			line = wrapHelpLine(strings.TrimRight(line, " \n"), width)
		}
		b.WriteString(line)
	}
	return b.String()
}

// joinHelpLines joins the lines of each paragraph. Indented lines, tables and lists are not joined.
func joinHelpLines(text string) (lines []string) {
	open := false // the last line can be continued
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, " \n")
		flows := line != "" && !strings.ContainsAny(line[:1], " |") && !strings.HasPrefix(line, "- ")
		if open && flows {
			lines[len(lines)-1] += " " + line
		} else {
			lines = append(lines, line)
		}
		open = flows
	}
	return lines
}

// wrapHelpLine wraps a line. Continued lines start below the last column of the line: columns are
// separated by at least two spaces.
func wrapHelpLine(line string, width int) string {
	if ansi.StringWidth(line) <= width {
		return line + "\n"
	}
	text := strings.TrimLeft(line, " ")
	column := len(line) - len(text)
	if i := strings.LastIndex(text, "  "); i >= 0 && column+i+2 <= width-minContent {
		column += i + 2
	}
	indent := strings.Repeat(" ", column)
	var b strings.Builder
	out, length := line[:column], column
	for i, word := range strings.FieldsFunc(line[column:], unicode.IsSpace) {
		n := ansi.StringWidth(word)
		switch {
		case i > 0 && length+1+n > width:
			b.WriteString(out + "\n")
			out, length = indent, column
		case i > 0:
			out += " "
			length++
		}
		out += word
		length += n
	}
	b.WriteString(out + "\n")
	return b.String()
}
