package main

import (
	"cmp"
	"fmt"
	"path"
	"strings"

	"github.com/spf13/cobra"

	"hob/autonomy/api"
	"hob/platform/provenance"
)

func (a *cli) memoryCmd() *cobra.Command {
	return a.commandGroup(
		&cobra.Command{Use: "memory", Short: "Manage Hob's memory", SuggestFor: []string{"remember", "forget", "fact", "facts", "knowledge"}},
		a.memoryListCmd(), a.memorySearchCmd(), a.memoryShowCmd(), a.memoryWhyCmd(), a.memoryAddCmd(), a.memoryLinkCmd(), a.memoryMergeCmd(), a.memorySplitCmd(), a.memoryGraphCmd(), a.forgetCmd(),
		a.memoryExportCmd(), a.memoryImportCmd(), a.memoryDocumentsCmd(), a.memoryPinCmd(), a.memoryStatsCmd(), a.memoryConsolidateCmd(), a.memoryFlushCmd(), a.memoryReindexCmd(), a.lessonsCmd(), a.userCmd(),
	)
}

func (a *cli) memoryListCmd() *cobra.Command {
	list := a.addJSONFlag(&cobra.Command{
		Use: "list", Short: "List facts, newest first", Args: cobra.NoArgs,
		RunE: a.runCommand(func(c *cobra.Command, _ []string) error {
			all, _ := c.Flags().GetBool("all")
			limit, err := givenLimit(c)
			if err != nil {
				return err
			}
			return printFetched(c.Context(), a, func(cl *client) ([]api.Fact, error) { return cl.Facts(c.Context(), limit, all) }, "The memory is empty. Add a fact with: hob memory add TEXT",
				"FACT|KIND|SINCE|ID|FROM|NAMESPACE", func(f api.Fact) []any {
					return []any{factText(f), f.Kind, f.CreatedAt, f.ID, originText(f.Provenance, ""), f.Realm}
				})
		}),
	})
	list.Flags().BoolP("all", "a", false, "include facts that were corrected")
	list.Flags().Int("limit", 1000, "maximum number of facts")
	return list
}

func (a *cli) memorySearchCmd() *cobra.Command {
	c := a.addJSONFlag(&cobra.Command{
		Use: "search TEXT...", Short: "Search the memory", Args: cobra.MinimumNArgs(1),
		RunE: a.runCommand(func(c *cobra.Command, args []string) error {
			q, err := a.memoryQuery(c, joinWords(args))
			if err != nil {
				return err
			}
			return printFetched(c.Context(), a, func(cl *client) ([]api.MemoryRow, error) { return cl.MemorySearch(c.Context(), q) }, "Nothing matches.",
				"TEXT|KIND|AT|ID|FROM", func(r api.MemoryRow) []any {
					return []any{excerptText(r), r.Kind, r.At, r.ID, originText(r.Provenance, r.Speaker)}
				})
		}),
	})
	memoryFlags(c)
	return c
}

// memoryFlags adds the flags that narrow a search.
func memoryFlags(c *cobra.Command) {
	c.Flags().StringSliceP("kind", "k", nil, "kinds of items: fact, turn, chunk, note, task, ... (retired: corrected facts)")
	c.Flags().String("speaker", "", "only messages from this speaker: owner, hob or a name")
	c.Flags().String("since", "", "first day: 2026-03-01")
	c.Flags().String("until", "", "end of the period: before this day")
	c.Flags().Bool("history", false, "include previous values of facts")
	c.Flags().Bool("offline", false, "do not use the embedder or the model")
	c.Flags().Int("limit", 10, "maximum number of results")
	_ = c.RegisterFlagCompletionFunc("kind", cobra.FixedCompletions([]string{"fact", "retired", "turn", "chunk", "note", "task", "reminder", "expense"}, cobra.ShellCompDirectiveNoFileComp))
	_ = c.RegisterFlagCompletionFunc("speaker", cobra.FixedCompletions([]string{"owner", "hob"}, cobra.ShellCompDirectiveNoFileComp))
}

// memoryQuery returns the search that the flags describe.
func (a *cli) memoryQuery(c *cobra.Command, text string) (q api.MemoryQuery, err error) {
	q.Text = text
	flags := c.Flags()
	q.Kinds, _ = flags.GetStringSlice("kind")
	q.Speaker, _ = flags.GetString("speaker")
	q.History, _ = flags.GetBool("history")
	offline, _ := flags.GetBool("offline")
	q.Meaning = !offline
	since, _ := flags.GetString("since")
	until, _ := flags.GetString("until")
	if q.Since, q.Until, err = parseDays(since, until); err != nil {
		return q, err
	}
	q.Limit, err = givenLimit(c)
	return q, err
}

// givenLimit returns the value of the flag limit, or 0 if it was not set.
func givenLimit(c *cobra.Command) (int, error) {
	if !c.Flags().Changed("limit") {
		return 0, nil
	}
	n, err := c.Flags().GetInt("limit")
	if err != nil {
		return 0, err
	}
	return n, checkLimit(n)
}

func (a *cli) memoryAddCmd() *cobra.Command {
	c := a.addJSONFlag(&cobra.Command{
		Use: "add TEXT...", Short: "Remember a fact", Args: cobra.MinimumNArgs(1),
		RunE: a.runCommand(func(c *cobra.Command, args []string) error {
			in := changedFlags(c, "kind", "until")
			in["text"] = joinWords(args)
			return a.runTool(c.Context(), false, "remember", in)
		}),
	})
	c.Flags().StringP("kind", "k", "", "kind of fact: fact, preference, procedure, event or decision (default from the words)")
	c.Flags().String("until", "", "with --kind event: its last day, after which the fact is retired")
	_ = c.RegisterFlagCompletionFunc("kind", cobra.FixedCompletions([]string{"fact", "preference", "procedure", "event", "decision"}, cobra.ShellCompDirectiveNoFileComp))
	return c
}

func (a *cli) memoryPinCmd() *cobra.Command {
	var off bool
	c := a.addJSONFlag(&cobra.Command{
		Use: "pin ID", Short: "Protect a fact when Hob tidies the memory", Args: cobra.ExactArgs(1), ValidArgsFunction: a.completeMemory,
		RunE: a.runCommand(func(c *cobra.Command, args []string) error {
			return a.withClient(c.Context(), func(cl *client) error {
				f, err := cl.PinFact(c.Context(), args[0], !off)
				if err != nil {
					return err
				}
				if a.asJSON {
					return a.printJSON(f)
				}
				if off {
					fmt.Fprintf(a.out, "Unpinned: %s\n", oneLine(f.Text))
					return nil
				}
				fmt.Fprintf(a.out, "Pinned: %s\n", oneLine(f.Text))
				return nil
			})
		}),
	})
	c.Flags().BoolVar(&off, "off", false, "unpin the fact")
	return c
}

func (a *cli) memoryLinkCmd() *cobra.Command {
	c := a.addJSONFlag(&cobra.Command{
		Use: "link FROM RELATION TO", Short: "Relate two people or things", Args: cobra.ExactArgs(3), ValidArgsFunction: a.completeMemory,
		RunE: a.runCommand(func(c *cobra.Command, args []string) error {
			in := changedFlags(c, "from-kind", "to-kind")
			out := map[string]any{"from": args[0], "relation": args[1], "to": args[2]}
			for k, v := range in {
				out[strings.ReplaceAll(k, "-", "_")] = v
			}
			return a.runTool(c.Context(), false, "link_entities", out)
		}),
	})
	c.Flags().String("from-kind", "", "kind of FROM: person, organisation, place, event or thing")
	c.Flags().String("to-kind", "", "kind of TO: person, organisation, place, event or thing")
	return c
}

func (a *cli) memoryMergeCmd() *cobra.Command {
	return a.addJSONFlag(&cobra.Command{
		Use: "merge NAME NAME", Short: "Merge two entries for the same person or thing", Args: cobra.ExactArgs(2), ValidArgsFunction: a.completeMemory,
		RunE: a.runCommand(func(c *cobra.Command, args []string) error {
			return a.runTool(c.Context(), false, "merge_entities", map[string]any{"first": args[0], "second": args[1]})
		}),
	})
}

func (a *cli) memorySplitCmd() *cobra.Command {
	return a.addJSONFlag(&cobra.Command{
		Use: "split NAME OTHER", Short: "Separate a name from an entry", Args: cobra.ExactArgs(2), ValidArgsFunction: a.completeMemory,
		Long: "Separates OTHER, a name or address of the person or thing NAME, into a separate entry. Undo it with: hob undo",
		RunE: a.runCommand(func(c *cobra.Command, args []string) error {
			return a.runTool(c.Context(), false, "split_entity", map[string]any{"entity": args[0], "name": args[1]})
		}),
	})
}

// completeMemory completes the ids of facts and the names of entities.
func (a *cli) completeMemory(c *cobra.Command, _ []string, _ string) ([]string, cobra.ShellCompDirective) {
	var out []string
	err := a.withClient(c.Context(), func(cl *client) error {
		facts, err := cl.Facts(c.Context(), 200, false)
		if err != nil {
			return err
		}
		for _, f := range facts {
			out = append(out, f.ID+"\t"+clipLine(oneLine(f.Text), 60))
		}
		g, err := cl.MemoryGraph(c.Context(), "", 200)
		if err != nil {
			return err
		}
		for _, e := range g.Entities {
			out = append(out, oneLine(e.Name)+"\t"+oneLine(e.Kind))
		}
		return nil
	})
	if err != nil {
		return nil, cobra.ShellCompDirectiveError
	}
	return out, cobra.ShellCompDirectiveNoFileComp
}

// originText returns an item's speaker. For untrusted text, and for items without a speaker that
// are not from the user, it returns the provenance.
func originText(from provenance.Source, speaker string) string {
	switch from {
	case provenance.Owner, provenance.Unknown:
		return speaker
	case provenance.Outside:
		return string(from)
	}
	return cmp.Or(speaker, string(from))
}

// factText returns a fact, and whether it is still valid.
func factText(f api.Fact) string {
	if !f.RetiredAt.IsZero() {
		return "(corrected) " + f.Text
	}
	return f.Text
}

// excerptText returns an excerpt of an item's text.
func excerptText(r api.MemoryRow) string {
	s := r.Text
	if r.Title != "" && !strings.HasPrefix(oneLine(s), strings.TrimSuffix(r.Title, "…")) {
		s = r.Title + ": " + s
	}
	if r.Past {
		s = "(before) " + s
	}
	return clipLine(oneLine(s), 400)
}

func (a *cli) memoryDocumentsCmd() *cobra.Command {
	return a.addJSONFlag(&cobra.Command{
		Use: "documents", Short: "List imported documents and failed imports", Args: cobra.NoArgs, SuggestFor: []string{"docs", "files"},
		RunE: a.runCommand(func(c *cobra.Command, _ []string) error {
			return printFetched(c.Context(), a, func(cl *client) ([]api.Document, error) { return cl.Documents(c.Context(), api.Query{}) }, "No documents yet.",
				"TITLE|ERROR|KIND|PARTS|ID|FROM", func(d api.Document) []any {
					return []any{cmp.Or(d.Title, path.Base(d.Source)), d.Error, d.Kind, d.Chunks, d.ID, d.Source}
				})
		}),
	})
}
