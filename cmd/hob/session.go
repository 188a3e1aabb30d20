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

	"hob/platform/system"
	"hob/platform/visible"
)

func (a *app) sessionCmd() *cobra.Command {
	list := a.listing(&cobra.Command{
		Use: "list", Short: "List the conversations", Args: cobra.NoArgs,
		RunE: a.run(func(c *cobra.Command, _ []string) error {
			return a.list(c.Context(), "/api/v1/sessions", nil, "No conversations yet.",
				col("SESSION", "id"), col("CHANNEL", "channel"), at(a.zone(), "SINCE", "created_at"), at(a.zone(), "LAST", "updated_at"), col("TURNS", "turns"))
		}),
	})
	show := a.listing(a.onSession(&cobra.Command{
		Use: "show SESSION", Short: "Show the messages of a conversation",
		RunE: a.run(func(c *cobra.Command, args []string) error { return a.showSession(c.Context(), args[0]) }),
	}))
	reset := a.onSession(&cobra.Command{
		Use: "reset SESSION", Short: "Reset the context of a conversation; keep its messages",
		RunE: a.run(func(c *cobra.Command, args []string) error {
			return a.with(c.Context(), func(cl *client) error {
				if err := cl.post(c.Context(), "/api/v1/manage/new", map[string]string{"session": args[0]}, nil); err != nil {
					return err
				}
				fmt.Fprintf(a.out, "Reset the context of the conversation %q.\n", args[0])
				return nil
			})
		}),
	})
	return a.group(&cobra.Command{Use: "session", Short: "Manage conversations", SuggestFor: []string{"history", "conversation"}},
		list, show, a.sessionSearchCmd(), a.sessionExportCmd(), a.sessionForkCmd(), a.sessionReplayCmd(), reset)
}

// onSession makes the command take a conversation id, with shell completion.
func (a *app) onSession(c *cobra.Command) *cobra.Command {
	c.Args = cobra.ExactArgs(1)
	c.ValidArgsFunction = a.completeSessions
	return c
}

func (a *app) completeSessions(c *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	var out []string
	err := a.with(c.Context(), func(cl *client) error {
		var rows []row
		err := cl.get(c.Context(), "/api/v1/sessions", query("limit", "200"), &rows)
		for _, r := range rows {
			out = append(out, r.text("id")+"\t"+fmt.Sprintf("%s, %s turns", r.text("channel"), r.text("turns")))
		}
		return err
	})
	if err != nil {
		return nil, cobra.ShellCompDirectiveError
	}
	return out, cobra.ShellCompDirectiveNoFileComp
}

func (a *app) sessionSearchCmd() *cobra.Command {
	c := a.listing(&cobra.Command{
		Use: "search TEXT...", Short: "Search the messages of all conversations", Args: cobra.MinimumNArgs(1),
		RunE: a.run(func(c *cobra.Command, args []string) error {
			q := query("q", words(args))
			for _, name := range []string{"session", "who", "since", "until", "limit"} {
				if f := c.Flags().Lookup(name); f.Changed {
					q.Set(name, f.Value.String())
				}
			}
			if !q.Has("limit") {
				q.Set("limit", "20")
			}
			return a.list(c.Context(), "/api/v1/sessions/search", q, "Nothing matches.",
				col("MESSAGE", "message"), col("SESSION", "session"), at(a.zone(), "AT", "at"), col("WHO", "who"), col("SAID", "snippet"))
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

func (a *app) sessionExportCmd() *cobra.Command {
	var format, to, images string
	var raw bool
	c := a.onSession(&cobra.Command{
		Use: "export SESSION", Short: "Export a conversation as Markdown or JSON lines",
		RunE: a.run(func(c *cobra.Command, args []string) error {
			return a.with(c.Context(), func(cl *client) error {
				return a.exportSession(c.Context(), cl, args[0], exportTo{format: format, file: to, images: images, raw: raw})
			})
		}),
	})
	c.Flags().StringVarP(&format, "format", "f", "markdown", "markdown or jsonl")
	c.Flags().StringVarP(&to, "output", "o", "", "new output file (default: standard output)")
	c.Flags().BoolVar(&raw, "raw", false, "keep control and invisible characters of a Markdown export")
	c.Flags().StringVar(&images, "images", "", "folder for the pictures of a Markdown file (default: embedded in the text)")
	return c
}

// exportTo contains the format and the target of an export.
type exportTo struct {
	format, file, images string
	raw                  bool
}

// writer returns where the export is written, and what completes it.
func (e exportTo) writer(w io.Writer) (io.Writer, func() error) {
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
func (a *app) exportSession(ctx context.Context, c *client, session string, how exportTo) error {
	format, to, images := how.format, how.file, how.images
	path := "/api/v1/sessions/" + pathPart(session) + "/export"
	if images != "" && (format != "markdown" || to == "") {
		return usage("--images needs a Markdown file: hob session export %s -o FILE --images FOLDER", shellWord(session))
	}
	if to == "" {
		out, flush := how.writer(a.out)
		return errors.Join(c.copy(ctx, path, query("format", format), out), flush())
	}
	if _, err := os.Lstat(to); err == nil {
		return usage("%s already exists; choose another name", to)
	}
	f, err := os.CreateTemp(filepath.Dir(to), ".hob-export-*")
	if err != nil {
		return fmt.Errorf("export: %w", err)
	}
	defer func() { _ = os.Remove(f.Name()) }() // it has its name by then, or is of no use
	var out io.Writer = f
	pics := &pictures{to: f, dir: images, beside: filepath.Dir(to)}
	if images != "" {
		out = pics
	}
	visibleOut, flush := how.writer(out)
	err = errors.Join(c.copy(ctx, path, query("format", format), visibleOut), flush(), pics.flush())
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		return err
	}
	if err := system.Rename(f.Name(), to); err != nil {
		return fmt.Errorf("export: %w", err)
	}
	fmt.Fprintf(a.err, "Wrote %s.\n", to)
	return nil
}

func (a *app) sessionForkCmd() *cobra.Command {
	var name, upTo string
	c := a.listing(a.onSession(&cobra.Command{
		Use: "fork SESSION", Short: "Create a conversation with the messages of this one",
		RunE: a.run(func(c *cobra.Command, args []string) error {
			return a.with(c.Context(), func(cl *client) error {
				var out row
				if err := cl.post(c.Context(), "/api/v1/sessions/"+pathPart(args[0])+"/fork", map[string]string{"session": name, "at": upTo}, &out); err != nil {
					return err
				}
				if a.asJSON {
					return a.printJSON(out)
				}
				fmt.Fprintf(a.out, "Created the conversation %s from %s, with %s turns. Continue with: hob chat --session %s\n",
					printable(out.text("id")), args[0], out.text("turns"), shellWord(out.text("id")))
				return nil
			})
		}),
	}))
	c.Flags().StringVar(&name, "name", "", "name of the new conversation (default: SESSION-fork)")
	c.Flags().StringVar(&upTo, "at", "", "ID of the last message or turn to copy (default: the last one)")
	return c
}

func (a *app) sessionReplayCmd() *cobra.Command {
	c := a.listing(&cobra.Command{
		Use: "replay SESSION [TURN]", Short: "Replay a recorded turn without effects, show differences", Args: cobra.RangeArgs(1, 2),
		ValidArgsFunction: a.completeSessions,
		RunE: a.run(func(c *cobra.Command, args []string) error {
			turn := ""
			if len(args) == 2 {
				turn = args[1]
			}
			return a.with(c.Context(), func(cl *client) error {
				var out row
				if err := cl.post(c.Context(), "/api/v1/sessions/"+pathPart(args[0])+"/replay", map[string]string{"turn": turn}, &out); err != nil {
					return err
				}
				if a.asJSON {
					delete(out, "text")
					if err := a.printJSON(out); err != nil {
						return err
					}
				} else {
					fmt.Fprintln(a.out, printable(out.text("text")))
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

// shellWord quotes what a shell would take apart.
func shellWord(s string) string {
	if s != "" && strings.Trim(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.:@/") == "" {
		return s
	}
	return "'" + strings.ReplaceAll(printable(s), "'", `'\''`) + "'"
}

// copy writes what the daemon answers to w.
func (c *client) copy(ctx context.Context, path string, q map[string][]string, w io.Writer) error {
	req, err := c.request(ctx, http.MethodGet, path, q, nil)
	if err != nil {
		return err
	}
	resp, err := c.http.Do(req)
	if err != nil {
		return c.broken(ctx, err)
	}
	defer resp.Body.Close()
	if resp.StatusCode >= 400 {
		return refusal(resp)
	}
	if _, err := io.Copy(w, resp.Body); err != nil {
		return c.broken(ctx, err)
	}
	return nil
}

// showSession prints a transcript, oldest first.
func (a *app) showSession(ctx context.Context, session string) error {
	return a.with(ctx, func(c *client) error {
		rows := []row{}
		if err := c.get(ctx, "/api/v1/sessions/"+pathPart(session)+"/messages", nil, &rows); err != nil {
			return err
		}
		if a.asJSON {
			return a.printJSON(rows)
		}
		if len(rows) == 0 {
			fmt.Fprintln(a.out, "No messages.")
			return nil
		}
		zone := a.zone()
		for i := len(rows) - 1; i >= 0; i-- {
			r := rows[i]
			who := r.text("from")
			when := localTime(zone, r.text("at"))
			if r.text("kind") == "message" {
				when += "  turn " + r.text("event")
			}
			said := strings.TrimSpace(r.text("text"))
			attached, _ := r["attached"].([]any)
			for _, what := range attached {
				said = strings.TrimSpace(said + "\n[" + fmt.Sprint(what) + "]")
			}
			fmt.Fprintf(a.out, "%s  %s\n%s\n\n", a.paint(a.out, bold, who), a.paint(a.out, dim, when), printable(said))
		}
		return nil
	})
}
