package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"hob/autonomy/api"
	"hob/platform/host/system"
	"hob/platform/text/visible"
)

func (a *cli) sessionCmd() *cobra.Command {
	list := a.addJSONFlag(&cobra.Command{
		Use: "list", Short: "List the conversations", Args: cobra.NoArgs,
		RunE: a.runCommand(func(c *cobra.Command, _ []string) error {
			return printFetched(c.Context(), a, func(cl *client) ([]api.Session, error) { return cl.Sessions(c.Context(), api.Query{}) }, "No conversations yet.",
				"SESSION|LAST|CHANNEL|TURNS|SINCE", func(s api.Session) []any {
					return []any{s.ID, s.UpdatedAt, s.Channel, s.Turns, s.CreatedAt}
				})
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
				if _, err := cl.Reset(c.Context(), args[0]); err != nil {
					return err
				}
				fmt.Fprintf(a.out, "Reset the context of the conversation %q.\n", args[0])
				return nil
			})
		}),
	})
	compact := a.addJSONFlag(&cobra.Command{
		Use: "compact [SESSION]", Short: "Summarize the older part of a conversation", Args: cobra.MaximumNArgs(1), ValidArgsFunction: a.completeSessions,
		RunE: a.runCommand(func(c *cobra.Command, args []string) error {
			return a.compactSession(c.Context(), firstOr(args, cliSession))
		}),
	})
	return a.commandGroup(&cobra.Command{Use: "session", Short: "Manage conversations", SuggestFor: []string{"history", "conversation"}},
		list, show, a.sessionSearchCmd(), a.sessionExportCmd(), a.sessionForkCmd(), a.sessionReplayCmd(), reset, compact)
}

// firstOr returns the first argument, or another value if there is none.
func firstOr(args []string, otherwise string) string {
	if len(args) > 0 {
		return args[0]
	}
	return otherwise
}

func (a *cli) compactSession(ctx context.Context, session string) error {
	return a.withClient(ctx, func(cl *client) error {
		r, err := cl.Compact(ctx, session)
		if err != nil {
			return err
		}
		if a.asJSON {
			return a.printJSON(r)
		}
		what := map[string]string{"summary": "a summary by " + r.Model, "digest": "the first lines of its older messages"}[r.How]
		fmt.Fprintf(a.out, "The context of the conversation %q now begins with %s: %s instead of %s. All messages stay: hob session show %s\n",
			session, sanitizePrintable(what), bytesText(int64(r.After)), bytesText(int64(r.Before)), shellWord(session))
		if r.Facts > 0 {
			fmt.Fprintf(a.out, "Saved %s first.\n", countText(r.Facts, "fact", "facts"))
		}
		return nil
	})
}

// onSession makes the command accept a conversation id, with shell completion.
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
		list, err := cl.Sessions(c.Context(), api.Query{Limit: 200})
		for _, s := range list {
			out = append(out, s.ID+"\t"+fmt.Sprintf("%s, %d turns", s.Channel, s.Turns))
		}
		return err
	})
	if err != nil {
		return nil, cobra.ShellCompDirectiveError
	}
	return out, cobra.ShellCompDirectiveNoFileComp
}

func (a *cli) sessionSearchCmd() *cobra.Command {
	var q api.SearchQuery
	var since, until string
	c := a.addJSONFlag(&cobra.Command{
		Use: "search TEXT...", Short: "Search the messages of all conversations", Args: cobra.MinimumNArgs(1),
		RunE: a.runCommand(func(c *cobra.Command, args []string) error {
			q.Text = joinWords(args)
			var err error
			if q.Since, q.Until, err = parseDays(since, until); err != nil {
				return err
			}
			if err := checkLimit(q.Limit); err != nil {
				return err
			}
			return printFetched(c.Context(), a, func(cl *client) ([]api.FoundMessage, error) { return cl.Search(c.Context(), q) }, "Nothing matches.",
				"TEXT|WHO|AT|SESSION|MESSAGE", func(m api.FoundMessage) []any {
					return []any{m.Snippet, m.Who, m.At, m.Session, m.Message}
				})
		}),
	})
	c.Flags().StringVarP(&q.Session, "session", "s", "", "only this conversation")
	c.Flags().StringVar(&q.Who, "who", "", "only messages from: owner (you), hob, tool or outside (untrusted text)")
	c.Flags().StringVar(&since, "since", "", "first day: 2026-03-01")
	c.Flags().StringVar(&until, "until", "", "end of the period: before this day")
	c.Flags().IntVar(&q.Limit, "limit", 20, "maximum number of messages")
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

// exportOptions holds the format and the target of an export.
type exportOptions struct {
	format, file, images string
	raw                  bool
}

// openWriter returns the writer for the export, and a function that completes the export.
func (e exportOptions) openWriter(w io.Writer) (io.Writer, func() error) {
	if e.raw || e.format != "markdown" {
		return w, func() error { return nil }
	}
	v := &visible.Writer{W: w}
	return v, v.Flush
}

// exportSession writes to a temporary file and renames it, so that the target file is always
// complete.
//
// Markdown contains untrusted text. Unless --raw is set, its control characters are made visible,
// because the text is likely to be shown in a terminal.
func (a *cli) exportSession(ctx context.Context, c *client, session string, how exportOptions) error {
	format, to, images := how.format, how.file, how.images
	if images != "" && (format != "markdown" || to == "") {
		return usageErrorf("--images needs a Markdown file: hob session export %s -o FILE --images FOLDER", shellWord(session))
	}
	if to == "" {
		out, flush := how.openWriter(a.out)
		return errors.Join(c.Export(ctx, session, format, out), flush())
	}
	if _, err := os.Lstat(to); err == nil {
		return usageErrorf("%s already exists; choose another name", to)
	}
	f, err := os.CreateTemp(filepath.Dir(to), ".hob-export-*")
	if err != nil {
		return fmt.Errorf("export: create a temporary file: %w", err)
	}
	defer func() { _ = os.Remove(f.Name()) }() // on success the file has been renamed, so this removes nothing
	var out io.Writer = f
	pics := &pictureExtractor{to: f, dir: images, beside: filepath.Dir(to)}
	if images != "" {
		out = pics
	}
	visibleOut, flush := how.openWriter(out)
	err = errors.Join(c.Export(ctx, session, format, visibleOut), flush(), pics.flushLine())
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		return err
	}
	if err := system.Rename(f.Name(), to); err != nil {
		return fmt.Errorf("export: rename the temporary file: %w", err)
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
				out, err := cl.Fork(c.Context(), args[0], name, upTo)
				if err != nil {
					return err
				}
				if a.asJSON {
					return a.printJSON(out)
				}
				fmt.Fprintf(a.out, "Created the conversation %s from %s, with %d turns. Continue with: hob chat --session %s\n",
					sanitizePrintable(out.ID), args[0], out.Turns, shellWord(out.ID))
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
		Use: "replay SESSION [TURN]", Short: "Replay a recorded turn without effects and show differences", Args: cobra.RangeArgs(1, 2),
		ValidArgsFunction: a.completeSessions,
		RunE: a.runCommand(func(c *cobra.Command, args []string) error {
			turn := ""
			if len(args) == 2 {
				turn = args[1]
			}
			return a.withClient(c.Context(), func(cl *client) error {
				out, err := cl.Replay(c.Context(), args[0], turn)
				if err != nil {
					return err
				}
				if a.asJSON {
					err = a.printJSON(struct {
						api.Replay
						Text string `json:"text,omitempty"` // hides the Text of api.Replay in the JSON output
					}{Replay: out})
					if err != nil {
						return err
					}
				} else {
					fmt.Fprintln(a.out, sanitizePrintable(out.Text))
				}
				if !out.Same {
					return &failure{code: exitFailed, cause: "the turn would be different today"}
				}
				return nil
			})
		}),
	})
	return c
}

// shellWord quotes a word for use in a shell.
func shellWord(s string) string {
	if s != "" && strings.Trim(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.:@/") == "" {
		return s
	}
	return "'" + strings.ReplaceAll(sanitizePrintable(s), "'", `'\''`) + "'"
}

// showSession prints a transcript, oldest message first.
func (a *cli) showSession(ctx context.Context, session string) error {
	return a.withClient(ctx, func(c *client) error {
		rows, err := c.Messages(ctx, api.Query{Of: session})
		if err != nil {
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
		for _, m := range slices.Backward(rows) {
			when := formatTime(zone, m.At)
			if m.Kind == "message" {
				when += "  turn " + m.Event
			}
			text := strings.TrimSpace(m.Text)
			for _, what := range m.Attached {
				text = strings.TrimSpace(text + "\n[" + what + "]")
			}
			fmt.Fprintf(a.out, "%s  %s\n%s\n\n", a.colorize(a.out, bold, m.From), a.colorize(a.out, dim, when), sanitizePrintable(text))
		}
		return nil
	})
}
