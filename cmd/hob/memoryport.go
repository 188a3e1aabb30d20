package main

import (
	"bufio"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"hob/autonomy/api"
	"hob/platform/host/system"
)

func (a *cli) memoryExportCmd() *cobra.Command {
	var format string
	var conversations, force bool
	c := &cobra.Command{
		Use: "export [FILE]", Short: "Export the memory to a file", Args: cobra.MaximumNArgs(1),
		RunE: a.runCommand(func(c *cobra.Command, args []string) error {
			to := "-"
			if len(args) == 1 {
				to = args[0]
			}
			if format == "" {
				format = "jsonl"
				if e := strings.ToLower(filepath.Ext(to)); e == ".md" || e == ".markdown" {
					format = "markdown"
				}
			}
			return a.withClient(c.Context(), func(cl *client) error {
				export := func(w io.Writer) error { return cl.MemoryExport(c.Context(), w, format, conversations) }
				if to == "-" {
					return export(a.out)
				}
				return a.exportTo(to, format, force, export)
			})
		}),
	}
	c.Flags().StringVarP(&format, "format", "f", "", "jsonl or markdown (default: based on the file name, or jsonl)")
	c.Flags().BoolVarP(&conversations, "conversations", "c", false, "include all messages")
	c.Flags().BoolVar(&force, "force", false, "overwrite an existing file")
	_ = c.RegisterFlagCompletionFunc("format", cobra.FixedCompletions([]string{"jsonl", "markdown"}, cobra.ShellCompDirectiveNoFileComp))
	return c
}

// exportTo writes to a temporary file and renames it, so that an incomplete export never has the
// final name.
func (a *cli) exportTo(to, format string, force bool, export func(io.Writer) error) error {
	if fi, err := os.Stat(to); err == nil {
		if fi.IsDir() {
			ext := map[string]string{"markdown": ".md", "jsonl": ".jsonl"}[format]
			to = filepath.Join(to, "hob-memory-"+time.Now().In(a.userZone()).Format("2006-01-02")+ext)
		}
		if _, err := os.Stat(to); err == nil && !force {
			return &failure{code: exitFailed, cause: to + " exists already", remedy: "choose another name, or use --force"}
		}
	}
	f, err := os.CreateTemp(filepath.Dir(to), ".hob-export-*") // CreateTemp uses mode 0600
	if err != nil {
		return err
	}
	defer os.Remove(f.Name()) //nolint:errcheck // the file was renamed by then, or is incomplete
	w := bufio.NewWriter(f)
	err = export(w)
	if err = errors.Join(err, w.Flush(), f.Sync(), f.Close()); err != nil {
		return err
	}
	if err := system.Rename(f.Name(), to); err != nil {
		return err
	}
	fi, err := os.Stat(to)
	if err == nil {
		fmt.Fprintf(a.err, "Wrote %s (%s). The file is not encrypted: everyone who can read it can read your memory.\n", sanitizePrintable(to), bytesText(fi.Size()))
	}
	return err
}

func (a *cli) memoryImportCmd() *cobra.Command {
	var in api.MemoryImport
	var format string
	c := a.addJSONFlag(&cobra.Command{
		Use: "import FILE|FOLDER|-", Short: "Import an export, contacts, notes or a document", Args: cobra.ExactArgs(1),
		RunE: a.runCommand(func(c *cobra.Command, args []string) (err error) {
			ext, ok := importEndings()[format]
			if !ok {
				in.Format = format
			}
			if format != "" && !slices.Contains(importFormats(), format) {
				return &failure{code: exitUsage, cause: "unknown format " + sanitizePrintable(format), remedy: "use one of " + strings.Join(importFormats(), ", ") + ", or none"}
			}
			if args[0] == "-" {
				var clean func()
				if in.Path, in.Name, clean, err = a.spoolInput(ext); err != nil {
					return err
				}
				defer clean()
			} else if in.Path, err = filepath.Abs(args[0]); err != nil { // the daemon has a different working folder
				return err
			}
			if _, err := os.Stat(in.Path); errors.Is(err, os.ErrNotExist) {
				return &failure{code: exitFailed, cause: "file not found: " + sanitizePrintable(in.Path), remedy: "give the path of a file or a folder", err: err}
			} else if err != nil {
				return &failure{code: exitFailed, cause: err.Error(), err: err}
			}
			return a.withClient(c.Context(), func(cl *client) error {
				show, end := a.stepPrinter()
				out, err := cl.MemoryImport(c.Context(), in, show)
				end()
				if err != nil {
					return err
				}
				return a.printImport(out)
			})
		}),
	})
	c.Flags().StringVarP(&format, "format", "f", "", "format (default: detected): "+strings.Join(importFormats(), ", "))
	_ = c.RegisterFlagCompletionFunc("format", cobra.FixedCompletions(importFormats(), cobra.ShellCompDirectiveNoFileComp))
	c.Flags().BoolVar(&in.Trust, "trust", false, "treat the text as your own words (default: only Hob's own exports)")
	c.Flags().BoolVarP(&in.DryRun, "dry-run", "n", false, "only show what would be imported")
	return c
}

// importFormats lists the formats for --format. Those before the formats of documents are also
// detected from the content; other content is rejected.
func importFormats() []string {
	return append([]string{"hob", "chatgpt", "claude", "vcard"}, slices.Sorted(maps.Keys(importEndings()))...)
}

// importEndings maps the formats of documents to their file extensions.
func importEndings() map[string]string {
	return map[string]string{"text": ".txt", "markdown": ".md", "html": ".html", "csv": ".csv", "json": ".json", "mail": ".eml", "calendar": ".ics"}
}

// mostPiped is the maximum size of piped input in bytes.
const mostPiped = 1 << 30

// spoolInput saves standard input to a file at path, because the import reads it more than once.
// name contains a digest of the content, so that a repeated import is recognized.
func (a *cli) spoolInput(ending string) (path, name string, clean func(), err error) {
	f, err := os.CreateTemp("", "hob-import-*") // CreateTemp uses mode 0600
	if err != nil {
		return "", "", nil, err
	}
	clean = func() { _ = os.Remove(f.Name()) }
	sum := sha256.New()
	n, err := io.Copy(io.MultiWriter(f, sum), io.LimitReader(a.in, mostPiped+1))
	err = errors.Join(err, f.Close())
	switch {
	case err == nil && n > mostPiped:
		err = &failure{code: exitFailed, cause: "standard input is longer than " + bytesText(mostPiped), remedy: "save it to a file and import that"}
	case err == nil && n == 0:
		err = &failure{code: exitFailed, cause: "standard input is empty", remedy: "pipe a file into the command, or give the path of the file"}
	}
	if err != nil {
		clean()
		return "", "", nil, err
	}
	return f.Name(), "stdin-" + hex.EncodeToString(sum.Sum(nil)[:4]) + ending, clean, nil
}

// printImport prints the result of an import.
func (a *cli) printImport(r api.ImportResult) error {
	if a.asJSON {
		return a.printJSON(r)
	}
	fmt.Fprintln(a.out, sanitizePrintable(r.Text))
	for _, s := range r.Skipped {
		fmt.Fprintf(a.err, "%s %s\n", a.colorize(a.err, amber, "skipped:"), oneLine(s))
	}
	return nil
}
