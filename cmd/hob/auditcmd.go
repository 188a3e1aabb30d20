package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/url"
	"os"

	"github.com/spf13/cobra"

	"hob/autonomy/guard"
	"hob/platform/host/system"
)

func (a *cli) auditCmd() *cobra.Command {
	return a.commandGroup(&cobra.Command{Use: "audit", Short: "Read and verify the audit log"},
		a.auditListCmd(), a.auditShowCmd(), a.auditVerifyCmd(), a.auditExportCmd())
}

func (a *cli) auditListCmd() *cobra.Command {
	var limit string
	var tainted bool
	names := []string{"event", "session", "tool", "actor", "action", "verdict", "outcome", "since", "until"}
	cmd := a.addJSONFlag(&cobra.Command{
		Use: "list", Short: "List the audit log, newest first", Args: cobra.NoArgs,
		RunE: a.runCommand(func(c *cobra.Command, _ []string) error {
			q := queryValues("limit", limit)
			for _, n := range names {
				if v, _ := c.Flags().GetString(n); v != "" {
					q.Set(n, v)
				}
			}
			if tainted {
				q.Set("tainted", "1")
			}
			return a.fetchAndPrintList(c.Context(), "/api/v1/audit", q, "No matching lines.",
				textColumn("LINE", "seq"), timeColumn(a.userZone(), "WHEN", "at"), textColumn("WHO", "actor"), textColumn("ACTION", "action"), textColumn("TOOL", "tool"), textColumn("VERDICT", "verdict"),
				textColumn("AUTHORITY", "rule"), textColumn("OUTCOME", "outcome"), textColumn("ORIGIN", "origin"))
		}),
	})
	for n, about := range map[string]string{
		"event": "only this event", "session": "only this conversation", "tool": "only this tool", "actor": "hob or owner", "action": "call, answer, undo, stop ...",
		"verdict": "allow, ask, deny, approved ...", "outcome": "done, started, or an error code", "since": "a day such as 2026-03-01, or a time", "until": "a day or a time",
	} {
		cmd.Flags().String(n, "", about)
	}
	cmd.Flags().BoolVar(&tainted, "tainted", false, "only lines with untrusted text in the context")
	cmd.Flags().StringVar(&limit, "limit", "100", "maximum number of lines")
	return cmd
}

func (a *cli) auditShowCmd() *cobra.Command {
	return a.addJSONFlag(&cobra.Command{
		Use: "show LINE", Short: "Show one line of the audit log in full", Args: cobra.ExactArgs(1),
		RunE: a.runCommand(func(c *cobra.Command, args []string) error {
			return a.withClient(c.Context(), func(cl *client) error {
				var out map[string]any
				if err := cl.getJSON(c.Context(), "/api/v1/audit/"+pathPart(args[0]), nil, &out); err != nil {
					return err
				}
				if a.asJSON {
					return a.printJSON(out)
				}
				fmt.Fprintln(a.out, sanitizePrintable(row(out).textField("text")))
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
		var h guard.ChainHead
		if err := c.getJSON(ctx, "/api/v1/audit/verify", nil, &h); err != nil {
			return err
		}
		if a.asJSON {
			return a.printJSON(h)
		}
		fmt.Fprintf(a.out, "The audit log is intact: %d lines, head %s\n", h.Lines, h.Hash)
		if h.Unkeyed > 0 {
			fmt.Fprintf(a.out, "The first %d lines are older than the key of the log; the line after them covers them.\n", h.Unkeyed)
		}
		return nil
	})
}

// verifyExport needs no engine: the file, and the key of the home it comes from.
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
				return a.auditExport(c.Context(), cl, queryValues("format", format, "since", since, "until", until), out)
			})
		}),
	}
	cmd.Flags().StringVar(&since, "since", "", "first day or time")
	cmd.Flags().StringVar(&until, "until", "", "end of the period: before this day or time")
	cmd.Flags().StringVar(&format, "format", "jsonl", "jsonl (for hob audit verify) or csv")
	cmd.Flags().StringVarP(&out, "output", "o", "", "output file, readable only by you")
	return cmd
}

func (a *cli) auditExport(ctx context.Context, c *client, q url.Values, path string) error {
	req, err := c.newRequest(ctx, http.MethodGet, "/api/v1/audit/export", q, nil)
	if err != nil {
		return err
	}
	resp, err := c.http.Do(req)
	if err != nil {
		return c.explainConnError(ctx, err)
	}
	defer resp.Body.Close()
	if resp.StatusCode >= 400 {
		return decodeErrorResponse(resp)
	}
	to := a.out
	if path != "" {
		f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
		if err != nil {
			return err
		}
		if _, err := io.Copy(f, resp.Body); err != nil {
			return errors.Join(c.explainConnError(ctx, err), f.Close())
		}
		return f.Close()
	}
	if _, err := io.Copy(to, resp.Body); err != nil {
		return c.explainConnError(ctx, err)
	}
	return nil
}
