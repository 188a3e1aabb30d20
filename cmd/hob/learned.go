package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"github.com/spf13/cobra"
)

const (
	lessonsPath = "/api/v1/memory/lessons"
	userPath    = "/api/v1/memory/user"
)

// lessonsCmd shows and changes what Hob learned.
func (a *app) lessonsCmd() *cobra.Command {
	var all bool
	list := a.listing(&cobra.Command{
		Use: "list", Short: "List the lessons", Args: cobra.NoArgs,
		RunE: a.run(func(c *cobra.Command, _ []string) error {
			q := url.Values{}
			if all {
				q.Set("all", "1")
			}
			return a.list(c.Context(), lessonsPath, q, "No lessons yet.",
				col("ID", "id"), col("STATE", "state"), col("SURE", "confidence"), col("USED", "uses"), at(a.zone(), "LAST", "seen_at"), col("LESSON", "text"))
		}),
	})
	list.Flags().BoolVarP(&all, "all", "a", false, "include retired and archived lessons")
	show := a.listing(&cobra.Command{
		Use: "show ID", Short: "Show the source of a lesson", Args: cobra.ExactArgs(1),
		RunE: a.run(func(c *cobra.Command, args []string) error { return a.showLesson(c, args[0]) }),
	})
	edit := a.listing(&cobra.Command{
		Use: "edit ID TEXT...", Short: "Reword a lesson, or reactivate a retired one", Args: cobra.MinimumNArgs(2),
		RunE: a.run(func(c *cobra.Command, args []string) error {
			return a.change(c, lessonsPath, args[0], map[string]any{"text": words(args[1:])}, "Changed.")
		}),
	})
	retire := a.listing(&cobra.Command{
		Use: "retire ID", Short: "Stop using a lesson", Args: cobra.ExactArgs(1),
		RunE: a.run(func(c *cobra.Command, args []string) error {
			return a.change(c, lessonsPath, args[0], map[string]any{"retire": true}, "Retired. Reactivate it with hob memory lessons edit.")
		}),
	})
	remove := a.listing(&cobra.Command{
		Use: "delete ID", Short: "Delete a lesson permanently", Args: cobra.ExactArgs(1),
		RunE: a.run(func(c *cobra.Command, args []string) error {
			return a.change(c, lessonsPath, args[0], map[string]any{"delete": true}, "Deleted.")
		}),
	})
	return a.group(&cobra.Command{Use: "lessons", Short: "Manage lessons from mistakes and corrections", Aliases: []string{"lesson"}}, list, show, edit, retire, remove)
}

func (a *app) showLesson(c *cobra.Command, id string) error {
	return a.with(c.Context(), func(cl *client) error {
		var rows []row
		if err := cl.get(c.Context(), lessonsPath, url.Values{"all": {"1"}}, &rows); err != nil {
			return err
		}
		for _, r := range rows {
			if r.text("id") != id {
				continue
			}
			if a.asJSON {
				return a.printJSON(r)
			}
			fmt.Fprintf(a.out, "%s\n\n", printable(r.text("text")))
			for _, f := range []column{
				col("state", "state"), col("sure", "confidence"), col("seen", "evidence"), col("used", "uses"), col("made of", "provenance"), col("session", "session"),
				col("event", "event"), at(a.zone(), "since", "created_at"), at(a.zone(), "last", "seen_at"), at(a.zone(), "retired", "retired_at"), col("retired by", "retired_by"),
			} {
				if v := f.cell(r); v != "" {
					fmt.Fprintf(a.out, "%-11s %s\n", f.title, printable(v))
				}
			}
			return nil
		}
		return &failure{code: exitFailed, cause: fmt.Sprintf("lesson %q not found", id), remedy: "see: hob memory lessons list --all"}
	})
}

// userCmd shows and changes what Hob knows about its owner.
func (a *app) userCmd() *cobra.Command {
	show := func(c *cobra.Command, _ []string) error {
		return a.list(c.Context(), userPath, nil, "Hob knows nothing about you yet.",
			col("ID", "id"), col("WHAT", "what"), col("FROM", "said_by"), at(a.zone(), "WHEN", "at"), col("MESSAGES", "messages"), col("IS", "text"))
	}
	list := a.listing(&cobra.Command{Use: "list", Short: "List what Hob knows about you", Args: cobra.NoArgs, RunE: a.run(show)})
	replace := a.listing(&cobra.Command{
		Use: "replace ID TEXT...", Short: "Reword a preference", Args: cobra.MinimumNArgs(2),
		RunE: a.run(func(c *cobra.Command, args []string) error {
			return a.change(c, userPath, args[0], map[string]any{"text": words(args[1:])}, "Changed.")
		}),
	})
	remove := a.listing(&cobra.Command{
		Use: "delete ID", Short: "Delete an entry that Hob has about you", Args: cobra.ExactArgs(1),
		RunE: a.run(func(c *cobra.Command, args []string) error {
			return a.change(c, userPath, args[0], map[string]any{"delete": true}, "Deleted.")
		}),
	})
	user := a.group(&cobra.Command{Use: "user", Short: "Manage what Hob knows about you"}, list, replace, remove)
	unknown := user.RunE
	a.listing(user)
	user.RunE = func(c *cobra.Command, args []string) error {
		if len(args) == 0 {
			return a.run(show)(c, args)
		}
		return unknown(c, args)
	}
	return user
}

// change applies a change to one entry and prints the result.
func (a *app) change(c *cobra.Command, path, id string, in map[string]any, said string) error {
	return a.with(c.Context(), func(cl *client) error {
		req, err := cl.request(c.Context(), http.MethodPost, path+"/"+pathPart(strings.TrimSpace(id)), nil, in)
		if err != nil {
			return err
		}
		var out json.RawMessage
		if err := cl.send(c.Context(), req, &out); err != nil {
			return err
		}
		if a.asJSON {
			return a.printJSON(out)
		}
		fmt.Fprintln(a.out, said)
		return nil
	})
}
