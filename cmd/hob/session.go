package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"hob/platform/host/system"
	"hob/platform/text/visible"
)

func (a *cli) sessionCmd() *cobra.Command {
	list := a.addJSONFlag(&cobra.Command{
		Use: "list", Short: "List the conversations", Args: cobra.NoArgs,
		RunE: a.runCommand(func(c *cobra.Command, _ []string) error {
			return a.fetchAndPrintList(c.Context(), "/api/v1/sessions", nil, "No conversations yet.",
				textColumn("SESSION", "id"), textColumn("CHANNEL", "channel"), timeColumn(a.userZone(), "SINCE", "created_at"), timeColumn(a.userZone(), "LAST", "updated_at"), textColumn("TURNS", "turns"))
		}),
	})
	show := a.addJSONFlag(a.onSession(&cobra.Command{
		Use: "show SESSION", Short: "Show the messages of a conversation",
		RunE: a.runCommand(func(c *cobra.Command, args []string) error { return a.showSession(c.Context(), args[0]) }),
	}))
	reset := a.onSession(&cobra.Command{
		Use: "reset SESSION", Short: "Reset the context of a conversation; keep its messages",
		RunE: a.runCommand(func(c *cobra.Command, args []string) error {
			return a.withClient(c.Context(), func(cl *client) error {
				if err := cl.postJSON(c.Context(), "/api/v1/manage/new", map[string]string{"session": args[0]}, nil); err != nil {
					return err
				}
				fmt.Fprintf(a.out, "Reset the context of the conversation %q.\n", args[0])
				return nil
			})
		}),
	})
	return a.commandGroup(&cobra.Command{Use: "session", Short: "Manage conversations", SuggestFor: []string{"history", "conversation"}},
		list, show, a.sessionSearchCmd(), a.sessionExportCmd(), a.sessionForkCmd(), a.sessionReplayCmd(), reset)
}

// onSession makes the command take a conversation id, with shell completion.
func (a *cli) onSession(c *cobra.Command) *cobra.Command {
	c.Args = cobra.ExactArgs(1)
	c.ValidArgsFunction = a.completeSessions
	return c
}

func (a *cli) completeSessions(c *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	var out []string
	err := a.withClient(c.Context(), func(cl *client) error {
		var rows []row
		err := cl.getJSON(c.Context(), "/api/v1/sessions", queryValues("limit", "200"), &rows)
		for _, r := range rows {
			out = append(out, r.textField("id")+"\t"+fmt.Sprintf("%s, %s turns", r.textField("channel"), r.textField("turns")))
		}
		return err
	})
	if err != nil {
		return nil, cobra.ShellCompDirectiveError
	}
	return out, cobra.ShellCompDirectiveNoFileComp
}

func (a *cli) sessionSearchCmd() *cobra.Command {
	c := a.addJSONFlag(&cobra.Command{
		Use: "search TEXT...", Short: "Search the messages of all conversations", Args: cobra.MinimumNArgs(1),
		RunE: a.runCommand(func(c *cobra.Command, args []string) error {
			q := queryValues("q", joinWords(args))
			for _, name := range []string{"session", "who", "since", "until", "limit"} {
				if f := c.Flags().Lookup(name); f.Changed {
					q.Set(name, f.Value.String())
				}
			}
			if !q.Has("limit") {
				q.Set("limit", "20")
			}
			return a.fetchAndPrintList(c.Context(), "/api/v1/sessions/search", q, "Nothing matches.",
				textColumn("MESSAGE", "message"), textColumn("SESSION", "session"), timeColumn(a.userZone(), "AT", "at"), textColumn("WHO", "who"), textColumn("SAID", "snippet"))
		}),
	})
	c.Flags().StringP("session", "s", "", "only this conversation")
	c.Flags().String("who", "", "only messages of: owner, hob, tool, outside")
	c.Flags().String("since", "", "first day: 2026-03-01")
	c.Flags().String("until", "", "end of the period: before this day")
	c.Flags().Int("limit", 20, "maximum number of messages")
	_ = c.RegisterFlagCompletionFunc("session", func(c *cobra.Command, _ []string, to string) ([]string, cobra.ShellCompDirective) {
		return a.completeSessions(c, nil, to)
	})
	return c
}

func (a *cli) sessionExportCmd() *cobra.Command {
	var format, to, images string
	var raw bool
	c := a.onSession(&cobra.Command{
		Use: "export SESSION", Short: "Export a conversation as Markdown or JSON lines",
		RunE: a.runCommand(func(c *cobra.Command, args []string) error {
			return a.withClient(c.Context(), func(cl *client) error {
				return a.exportSession(c.Context(), cl, args[0], exportOptions{format: format, file: to, images: images, raw: raw})
			})
		}),
	})
	c.Flags().StringVarP(&format, "format", "f", "markdown", "markdown or jsonl")
	c.Flags().StringVarP(&to, "output", "o", "", "new output file (default: standard output)")
	c.Flags().BoolVar(&raw, "raw", false, "keep control and invisible characters of a Markdown export")
	c.Flags().StringVar(&images, "images", "", "folder for the pictures of a Markdown file (default: embedded in the text)")
	return c
}

// exportOptions contains the format and the target of an export.
type exportOptions struct {
	format, file, images string
	raw                  bool
}

// openWriter returns the destination of the export, and a function that completes it.
func (e exportOptions) openWriter(w io.Writer) (io.Writer, func() error) {
	if e.raw || e.format != "markdown" {
		return w, func() error { return nil }
	}
	v := &visible.Writer{W: w}
	return v, v.Flush
}

// exportSession writes to a temporary file and renames it, so that the named file is complete.
//
// Markdown contains untrusted text. Its control characters are made visible unless --raw is
// set, because it is likely to be shown in a terminal.
func (a *cli) exportSession(ctx context.Context, c *client, session string, how exportOptions) error {
	format, to, images := how.format, how.file, how.images
	path := "/api/v1/sessions/" + pathPart(session) + "/export"
	if images != "" && (format != "markdown" || to == "") {
		return usageErrorf("--images needs a Markdown file: hob session export %s -o FILE --images FOLDER", shellWord(session))
	}
	if to == "" {
		out, flush := how.openWriter(a.out)
		return errors.Join(c.copyResponse(ctx, path, queryValues("format", format), out), flush())
	}
	if _, err := os.Lstat(to); err == nil {
		return usageErrorf("%s already exists; choose another name", to)
	}
	f, err := os.CreateTemp(filepath.Dir(to), ".hob-export-*")
	if err != nil {
		return fmt.Errorf("export: %w", err)
	}
	defer func() { _ = os.Remove(f.Name()) }() // it has its name by then, or is of no use
	var out io.Writer = f
	pics := &pictureExtractor{to: f, dir: images, beside: filepath.Dir(to)}
	if images != "" {
		out = pics
	}
	visibleOut, flush := how.openWriter(out)
	err = errors.Join(c.copyResponse(ctx, path, queryValues("format", format), visibleOut), flush(), pics.flushLine())
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		return err
	}
	if err := system.Rename(f.Name(), to); err != nil {
		return fmt.Errorf("export: %w", err)
	}
	fmt.Fprintf(a.err, "Wrote %s.\n", to)
	return nil
}

func (a *cli) sessionForkCmd() *cobra.Command {
	var name, upTo string
	c := a.addJSONFlag(a.onSession(&cobra.Command{
		Use: "fork SESSION", Short: "Create a conversation with the messages of this one",
		RunE: a.runCommand(func(c *cobra.Command, args []string) error {
			return a.withClient(c.Context(), func(cl *client) error {
				var out row
				if err := cl.postJSON(c.Context(), "/api/v1/sessions/"+pathPart(args[0])+"/fork", map[string]string{"session": name, "at": upTo}, &out); err != nil {
					return err
				}
				if a.asJSON {
					return a.printJSON(out)
				}
				fmt.Fprintf(a.out, "Created the conversation %s from %s, with %s turns. Continue with: hob chat --session %s\n",
					sanitizePrintable(out.textField("id")), args[0], out.textField("turns"), shellWord(out.textField("id")))
				return nil
			})
		}),
	}))
	c.Flags().StringVar(&name, "name", "", "name of the new conversation (default: SESSION-fork)")
	c.Flags().StringVar(&upTo, "at", "", "ID of the last message or turn to copy (default: the last one)")
	return c
}

func (a *cli) sessionReplayCmd() *cobra.Command {
	c := a.addJSONFlag(&cobra.Command{
		Use: "replay SESSION [TURN]", Short: "Replay a recorded turn without effects, show differences", Args: cobra.RangeArgs(1, 2),
		ValidArgsFunction: a.completeSessions,
		RunE: a.runCommand(func(c *cobra.Command, args []string) error {
			turn := ""
			if len(args) == 2 {
				turn = args[1]
			}
			return a.withClient(c.Context(), func(cl *client) error {
				var out row
				if err := cl.postJSON(c.Context(), "/api/v1/sessions/"+pathPart(args[0])+"/replay", map[string]string{"turn": turn}, &out); err != nil {
					return err
				}
				if a.asJSON {
					delete(out, "text")
					if err := a.printJSON(out); err != nil {
						return err
					}
				} else {
					fmt.Fprintln(a.out, sanitizePrintable(out.textField("text")))
				}
				if same, _ := out["same"].(bool); !same {
					return &failure{code: exitFailed, cause: "the turn would be different today"}
				}
				return nil
			})
		}),
	})
	return c
}

// shellWord quotes a word for a shell.
func shellWord(s string) string {
	if s != "" && strings.Trim(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.:@/") == "" {
		return s
	}
	return "'" + strings.ReplaceAll(sanitizePrintable(s), "'", `'\''`) + "'"
}

// copyResponse copies the daemon's response to w.
func (c *client) copyResponse(ctx context.Context, path string, q map[string][]string, w io.Writer) error {
	req, err := c.newRequest(ctx, http.MethodGet, path, q, nil)
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
	if _, err := io.Copy(w, resp.Body); err != nil {
		return c.explainConnError(ctx, err)
	}
	return nil
}

// showSession prints a transcript, oldest first.
func (a *cli) showSession(ctx context.Context, session string) error {
	return a.withClient(ctx, func(c *client) error {
		rows := []row{}
		if err := c.getJSON(ctx, "/api/v1/sessions/"+pathPart(session)+"/messages", nil, &rows); err != nil {
			return err
		}
		if a.asJSON {
			return a.printJSON(rows)
		}
		if len(rows) == 0 {
			fmt.Fprintln(a.out, "No messages.")
			return nil
		}
		zone := a.userZone()
		for i := len(rows) - 1; i >= 0; i-- {
			r := rows[i]
			who := r.textField("from")
			when := localTime(zone, r.textField("at"))
			if r.textField("kind") == "message" {
				when += "  turn " + r.textField("event")
			}
			said := strings.TrimSpace(r.textField("text"))
			attached, _ := r["attached"].([]any)
			for _, what := range attached {
				said = strings.TrimSpace(said + "\n[" + fmt.Sprint(what) + "]")
			}
			fmt.Fprintf(a.out, "%s  %s\n%s\n\n", a.colorize(a.out, bold, who), a.colorize(a.out, dim, when), sanitizePrintable(said))
		}
		return nil
	})
}
