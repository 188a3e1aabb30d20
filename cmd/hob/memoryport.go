package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"
)

func (a *app) memoryExportCmd() *cobra.Command {
	var format string
	var conversations, force bool
	c := &cobra.Command{
		Use: "export [FILE]", Short: "Write everything that is remembered to a file", Args: cobra.MaximumNArgs(1),
		RunE: a.run(func(c *cobra.Command, args []string) error {
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
			q := query("format", format)
			if conversations {
				q.Set("conversations", "1")
			}
			return a.with(c.Context(), func(cl *client) error {
				if to == "-" {
					return cl.copy(c.Context(), memoryPath+"/export", q, a.out)
				}
				return a.exportTo(c.Context(), cl, to, q, force)
			})
		}),
	}
	c.Flags().StringVarP(&format, "format", "f", "", "jsonl or markdown (default: by the name of the file, else jsonl)")
	c.Flags().BoolVarP(&conversations, "conversations", "c", false, "also all that was said")
	c.Flags().BoolVar(&force, "force", false, "replace a file that is there")
	_ = c.RegisterFlagCompletionFunc("format", cobra.FixedCompletions([]string{"jsonl", "markdown"}, cobra.ShellCompDirectiveNoFileComp))
	return c
}

// exportTo writes beside the file first: one that is whole takes its name, or
// none does.
func (a *app) exportTo(ctx context.Context, cl *client, to string, q map[string][]string, force bool) error {
	if fi, err := os.Stat(to); err == nil {
		if fi.IsDir() {
			ext := map[string]string{"markdown": ".md", "jsonl": ".jsonl"}[q["format"][0]]
			to = filepath.Join(to, "hob-memory-"+time.Now().In(a.zone()).Format("2006-01-02")+ext)
		}
		if _, err := os.Stat(to); err == nil && !force {
			return &failure{code: exitFailed, cause: to + " exists already", remedy: "choose another name, or say --force"}
		}
	}
	f, err := os.CreateTemp(filepath.Dir(to), ".hob-export-*") // 0600
	if err != nil {
		return err
	}
	defer os.Remove(f.Name()) //nolint:errcheck // it has its name by then, or is of no use
	w := bufio.NewWriter(f)
	err = cl.copy(ctx, memoryPath+"/export", q, w)
	if err = errors.Join(err, w.Flush(), f.Sync(), f.Close()); err != nil {
		return err
	}
	if err := os.Rename(f.Name(), to); err != nil {
		return err
	}
	fi, err := os.Stat(to)
	if err == nil {
		fmt.Fprintf(a.err, "Wrote %s (%s). It is not encrypted: whoever reads it reads your memory.\n", printable(to), bytesText(fi.Size()))
	}
	return err
}

func (a *app) memoryImportCmd() *cobra.Command {
	var in struct {
		Path   string `json:"path"`
		Trust  bool   `json:"trust"`
		DryRun bool   `json:"dry_run"`
	}
	c := a.listing(&cobra.Command{
		Use: "import FILE|FOLDER", Short: "Take in an export, contacts, a vault of notes or a document", Args: cobra.ExactArgs(1),
		RunE: a.run(func(c *cobra.Command, args []string) (err error) {
			if in.Path, err = filepath.Abs(args[0]); err != nil { // the daemon has another working folder
				return err
			}
			if _, err := os.Stat(in.Path); errors.Is(err, os.ErrNotExist) {
				return &failure{code: exitFailed, cause: "there is no " + printable(in.Path), remedy: "give the path of a file or a folder", err: err}
			} else if err != nil {
				return &failure{code: exitFailed, cause: err.Error(), err: err}
			}
			return a.with(c.Context(), func(cl *client) error {
				last, err := a.steps(c.Context(), cl, memoryPath+"/import", in)
				if err != nil {
					return err
				}
				return a.imported(last)
			})
		}),
	})
	c.Flags().BoolVar(&in.Trust, "trust", false, "take its words for your own, whatever it is (default: only Hob's own exports)")
	c.Flags().BoolVarP(&in.DryRun, "dry-run", "n", false, "only say what would be taken in")
	return c
}

// imported says what came of an import.
func (a *app) imported(r row) error {
	if a.asJSON {
		return a.printJSON(r)
	}
	fmt.Fprintln(a.out, printable(r.text("text")))
	if list, ok := r["skipped"].([]any); ok {
		for _, s := range list {
			fmt.Fprintf(a.err, "%s %s\n", a.paint(a.err, amber, "skipped:"), oneLine(fmt.Sprint(s)))
		}
	}
	return nil
}
