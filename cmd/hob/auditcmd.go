package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"hob/autonomy/api"
	"hob/autonomy/explain"
	"hob/autonomy/guard"
	"hob/platform/host/system"
)

func (a *cli) auditCmd() *cobra.Command {
	return a.commandGroup(&cobra.Command{Use: "audit", Short: "Read and verify the audit log"},
		a.auditListCmd(), a.auditShowCmd(), a.auditVerifyCmd(), a.auditExportCmd())
}

func (a *cli) auditListCmd() *cobra.Command {
	var q api.AuditQuery
	var limit, since, until string
	cmd := a.addJSONFlag(&cobra.Command{
		Use: "list", Short: "List the audit log, newest first", Args: cobra.NoArgs,
		RunE: a.runCommand(func(c *cobra.Command, _ []string) error {
			var err error
			if q.Limit, err = strconv.Atoi(limit); err != nil {
				q.Limit = 0
			}
			if err := checkLimit(q.Limit); err != nil {
				return err
			}
			if q.Since, q.Until, err = parseDays(since, until); err != nil {
				return err
			}
			return printFetched(c.Context(), a, func(cl *client) ([]api.AuditRecord, error) { return cl.Audit(c.Context(), q) }, "No matching lines.",
				"ACTION|VERDICT|WHEN|LINE|OUTCOME|AUTHORITY|WHO|ORIGIN", func(r api.AuditRecord) []any {
					what := strings.TrimSpace(r.Action + " " + r.Tool)
					if r.Action == "call" {
						what = r.Tool
					}
					return []any{what, r.Verdict, r.At, r.Seq, r.Outcome, r.Rule, r.Actor, r.Origin}
				})
		}),
	})
	for _, f := range []struct {
		to          *string
		name, about string
	}{
		{&q.Event, "event", "only this event"},
		{&q.Session, "session", "only this conversation"},
		{&q.Tool, "tool", "only this tool"},
		{&q.Actor, "actor", "hob or owner"},
		{&q.Action, "action", "call, answer, undo, stop ..."},
		{&q.Verdict, "verdict", "allow, ask, deny, approved ..."},
		{&q.Outcome, "outcome", "done, started, or an error code"},
		{&since, "since", "a day such as 2026-03-01, or a time"},
		{&until, "until", "a day or a time"},
	} {
		cmd.Flags().StringVar(f.to, f.name, "", f.about)
	}
	cmd.Flags().BoolVar(&q.Tainted, "tainted", false, "only lines with untrusted text in the context")
	cmd.Flags().StringVar(&limit, "limit", "100", "maximum number of lines")
	return cmd
}

func (a *cli) auditShowCmd() *cobra.Command {
	return a.addJSONFlag(&cobra.Command{
		Use: "show LINE", Short: "Show one line of the audit log in full", Args: cobra.ExactArgs(1),
		RunE: a.runCommand(func(c *cobra.Command, args []string) error {
			return a.withClient(c.Context(), func(cl *client) error {
				line, err := strconv.ParseInt(args[0], 10, 64)
				if err != nil || line < 1 {
					return &failure{code: exitFailed, cause: "the line must be a number"}
				}
				out, err := cl.AuditLine(c.Context(), line)
				if err != nil {
					return err
				}
				if a.asJSON {
					return a.printJSON(out)
				}
				fmt.Fprintln(a.out, sanitizePrintable(out.Text))
				return nil
			})
		}),
	})
}

func (a *cli) auditVerifyCmd() *cobra.Command {
	return a.addJSONFlag(&cobra.Command{
		Use: "verify [EXPORT]", Short: "Verify that no line was changed or removed", Args: cobra.MaximumNArgs(1),
		RunE: a.runCommand(func(c *cobra.Command, args []string) error {
			if len(args) == 1 {
				return a.verifyExport(args[0])
			}
			return a.verifyLog(c.Context())
		}),
	})
}

func (a *cli) verifyLog(ctx context.Context) error {
	return a.withClient(ctx, func(c *client) error {
		h, err := c.AuditVerify(ctx)
		if err != nil {
			return err
		}
		if a.asJSON {
			return a.printJSON(h)
		}
		fmt.Fprintf(a.out, "The audit log is intact: %d lines, head %s\n", h.Lines, h.Hash)
		if h.Unkeyed > 0 {
			fmt.Fprintf(a.out, "The first %d lines were written before the audit key existed; the next line protects them.\n", h.Unkeyed)
		}
		for _, r := range h.Restores {
			fmt.Fprintf(a.out, "Line %d records that %s was restored on %s; the replaced log ended at line %d, head %s\n", r.Line, sanitizePrintable(r.Snapshot), formatTime(a.userZone(), r.At), r.ReplacedLines, r.ReplacedHead)
		}
		return nil
	})
}

// verifyExport verifies an export. It does not need a running daemon: it uses only the file and the
// audit key in the home folder.
func (a *cli) verifyExport(path string) error {
	p, err := system.DefaultPaths()
	if err != nil {
		return err
	}
	key, err := system.ReadKey(p.AuditKeyFile())
	if errors.Is(err, fs.ErrNotExist) {
		return &failure{code: exitFailed, cause: "no audit key " + p.AuditKeyFile(), remedy: "check the export on the machine it comes from, or set HOB_HOME to a copy of its home"}
	}
	if err != nil {
		return err
	}
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	s, err := guard.VerifyExport(f, key)
	if err != nil {
		return err
	}
	if a.asJSON {
		return a.printJSON(s)
	}
	fmt.Fprintf(a.out, "The export is intact: %d lines, %d to %d, head %s\n", s.Lines, s.From, s.To, s.Head)
	return nil
}

func (a *cli) auditExportCmd() *cobra.Command {
	var since, until, format, out string
	cmd := &cobra.Command{
		Use: "export", Short: "Export the audit log", Args: cobra.NoArgs,
		RunE: a.runCommand(func(c *cobra.Command, _ []string) error {
			return a.withClient(c.Context(), func(cl *client) error {
				from, to, err := parseDays(since, until)
				if err != nil {
					return err
				}
				export := func(w io.Writer) error { return cl.AuditExport(c.Context(), w, format, from, to) }
				return a.auditExport(out, export)
			})
		}),
	}
	cmd.Flags().StringVar(&since, "since", "", "first day or time")
	cmd.Flags().StringVar(&until, "until", "", "end of the period: before this day or time")
	cmd.Flags().StringVar(&format, "format", "jsonl", "jsonl (for hob audit verify) or csv")
	cmd.Flags().StringVarP(&out, "output", "o", "", "output file, readable only by you")
	return cmd
}

// auditExport writes an export to a new file, or to standard output if path is empty.
func (a *cli) auditExport(path string, export func(io.Writer) error) error {
	if path == "" {
		return export(a.out)
	}
	w := &newFileWriter{path: path}
	return errors.Join(export(w), w.closeFile())
}

// newFileWriter creates a new file when the first byte is written. Only the user can read the file.
// An export that fails earlier leaves no file.
type newFileWriter struct {
	path string
	file *os.File
}

// Write implements io.Writer.
func (w *newFileWriter) Write(b []byte) (int, error) {
	if w.file == nil {
		f, err := os.OpenFile(w.path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
		if err != nil {
			return 0, err
		}
		w.file = f
	}
	return w.file.Write(b)
}

func (w *newFileWriter) closeFile() error {
	if w.file == nil {
		return nil
	}
	return w.file.Close()
}

func (a *cli) whyCmd() *cobra.Command {
	var all bool
	cmd := a.addJSONFlag(&cobra.Command{
		Use: "why [event|tick|notification|silence] [ID|last|WORDS...]", SuggestFor: []string{"explain", "log", "logs"}, Short: "Explain why Hob did or said something, or did not",
		RunE: a.runCommand(func(c *cobra.Command, args []string) error {
			return a.withClient(c.Context(), func(cl *client) error {
				q := explain.ParseQuestion(joinWords(args))
				out, err := cl.Why(c.Context(), q.Kind, q.About)
				if err != nil {
					return err
				}
				if a.asJSON {
					return a.printJSON(out)
				}
				answer, details := explain.SplitDetails(out.Text)
				switch {
				case all:
					answer = out.Text
				case details != "":
					answer += "\n(Details: hob why --all)"
				}
				a.printWrapped(sanitizePrintable(answer))
				return nil
			})
		}),
	})
	cmd.Flags().BoolVar(&all, "all", false, "also show each decision, call, message and model")
	return cmd
}
