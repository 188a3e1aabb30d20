package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"hob/channels"
	"hob/cmd/hob/internal/channel"
)

// addArchiveFlag adds the flag --db to "hob channel test". "hob channel test CHANNEL --db FILE"
// lists the messages in a file from the channel's platform, on any system and without a daemon.
func (a *cli) addArchiveFlag(cmd *cobra.Command) *cobra.Command {
	var file string
	rest := cmd.RunE
	readers := channel.ArchiveReaders()
	names := make([]string, 0, len(readers))
	for name := range readers {
		names = append(names, name)
	}
	slices.Sort(names)
	cmd.Flags().StringVar(&file, "db", "", "for "+strings.Join(names, ", ")+": list the messages in this chat.db")
	list := a.runCommand(func(c *cobra.Command, args []string) error {
		switch {
		case len(args) != 1 || readers[args[0]] == nil:
			return usageErrorf("--db works only with: hob channel test %s --db FILE", strings.Join(names, "|"))
		case file == "":
			return usageErrorf("--db is empty; give the path of a chat.db")
		}
		return a.listArchive(c, readers[args[0]], file)
	})
	cmd.RunE = func(c *cobra.Command, args []string) error {
		if c.Flags().Changed("db") {
			return list(c, args)
		}
		return rest(c, args)
	}
	return cmd
}

// listArchive prints the messages in a file while they are read.
func (a *cli) listArchive(c *cobra.Command, r channels.ArchiveReader, file string) error {
	between := "["
	err := r.ReadArchive(c.Context(), file, func(m channels.ArchivedMessage) error {
		if a.asJSON {
			fmt.Fprintf(a.out, "%s\n  %s", between, m.JSON)
			between = ","
			return nil
		}
		kind := ""
		if m.Kind != "" {
			kind = " (" + m.Kind + ")"
		}
		fmt.Fprintf(a.out, "%s  %s  %s%s%s: %s\n", m.ID, m.At.In(a.userZone()).Format("2006-01-02 15:04"), sanitizePrintable(m.Who), sanitizePrintable(m.Chat), kind, sanitizePrintable(m.Text))
		return nil
	})
	switch {
	case err != nil:
		return err
	case a.asJSON && between == "[":
		fmt.Fprintln(a.out, "[]")
	case a.asJSON:
		fmt.Fprintln(a.out, "\n]")
	}
	return nil
}
