package main

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// manCmd writes the manual pages. It is intended for packagers.
func (a *cli) manCmd() *cobra.Command {
	return &cobra.Command{
		Use: "man FOLDER", Short: "Write the manual pages into a folder", Args: cobra.ExactArgs(1), Hidden: true,
		RunE: a.runCommand(func(c *cobra.Command, args []string) error {
			if err := os.MkdirAll(args[0], 0o755); err != nil { //nolint:gosec // manual pages are readable for everyone
				return err
			}
			return writeManuals(c.Root(), args[0])
		}),
	}
}

func writeManuals(c *cobra.Command, dir string) error {
	if c.Hidden {
		return nil
	}
	var b bytes.Buffer
	z := gzip.NewWriter(&b) // no modification time, so that the same content produces the same file
	if _, err := z.Write([]byte(manPage(c))); err != nil {
		return err
	}
	if err := z.Close(); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(dir, pageName(c)+".1.gz"), b.Bytes(), 0o644); err != nil { //nolint:gosec // manual pages are readable for everyone
		return err
	}
	for _, sub := range c.Commands() {
		if err := writeManuals(sub, dir); err != nil {
			return err
		}
	}
	return nil
}

func pageName(c *cobra.Command) string { return strings.ReplaceAll(c.CommandPath(), " ", "-") }

// manWidth is the width of preformatted text: man indents it by 7 columns, and pages have 80.
const manWidth = 72

// wrapManText wraps the lines of a text for a manual page.
func wrapManText(lines []string) string {
	var b strings.Builder
	for _, line := range lines {
		b.WriteString(wrapHelpLine(strings.TrimRight(line, " "), manWidth))
	}
	return escapeRoff(strings.TrimRight(b.String(), "\n"))
}

// manPage returns the manual page for a command in the format described in man(7).
func manPage(c *cobra.Command) string {
	var b strings.Builder
	name := pageName(c)
	fmt.Fprintf(&b, ".TH %s 1 \"\" Hob \"Hob's manual\"\n.SH NAME\n%s \\- %s\n", strings.ToUpper(escapeRoff(name)), escapeRoff(name), escapeRoff(c.Short))
	fmt.Fprintf(&b, ".SH SYNOPSIS\n.B %s\n", escapeRoff(c.UseLine()))
	if c.Long != "" {
		b.WriteString(".SH DESCRIPTION\n.nf\n" + wrapManText(joinHelpLines(c.Long)) + "\n.fi\n")
	}
	flags := func(title string, set *pflag.FlagSet) {
		if !set.HasAvailableFlags() {
			return
		}
		b.WriteString(".SH " + title + "\n.nf\n" + wrapManText(strings.Split(set.FlagUsages(), "\n")) + "\n.fi\n")
	}
	flags("OPTIONS", c.LocalFlags())
	if c.Example != "" {
		b.WriteString(".SH EXAMPLES\n.nf\n" + escapeRoff(c.Example) + "\n.fi\n")
	}
	var see []string
	if c.HasParent() {
		see = append(see, ".BR "+escapeRoff(pageName(c.Parent()))+" (1)")
	}
	for _, sub := range c.Commands() {
		if !sub.Hidden {
			see = append(see, ".BR "+escapeRoff(pageName(sub))+" (1)")
		}
	}
	if len(see) > 0 {
		b.WriteString(".SH \"SEE ALSO\"\n" + strings.Join(see, ",\n") + "\n")
	}
	return b.String()
}

// escapeRoff escapes s for roff: backslashes, hyphens, and characters that would start a request at
// the beginning of a line.
func escapeRoff(s string) string {
	s = strings.NewReplacer(`\`, `\e`, "-", `\-`).Replace(s)
	lines := strings.Split(s, "\n")
	for i, l := range lines {
		if strings.HasPrefix(l, ".") || strings.HasPrefix(l, "'") {
			lines[i] = `\&` + l
		}
	}
	return strings.Join(lines, "\n")
}
