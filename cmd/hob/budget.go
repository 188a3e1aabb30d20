package main

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
)

// moneyCmds returns the commands of `hob expense` for budgets, recurring costs and files.
func (a *cli) moneyCmds() []*cobra.Command {
	budget := a.addJSONFlag(&cobra.Command{
		Use: "budget [CATEGORY...]", Short: "Check, set or remove budgets",
		RunE: a.runCommand(func(c *cobra.Command, args []string) error {
			in := changedFlags(c, "period", "currency")
			if category := joinWords(args); category != "" {
				in["category"] = category
			}
			switch remove, _ := c.Flags().GetBool("remove"); {
			case remove:
				in["action"] = "remove"
			case c.Flags().Changed("set"):
				limit, err := numberFlag(c, "set")
				if err != nil {
					return err
				}
				in["action"], in["limit"] = "set", limit
			}
			return a.runTool(c.Context(), false, "budget_check", in)
		}),
	})
	budget.Flags().String("set", "", "limit: the most to spend in the period")
	budget.Flags().Bool("remove", false, "remove the budget")
	budget.Flags().String("period", "", "day, week, month, quarter or year (default for --set: month)")
	budget.Flags().String("currency", "", "ISO code (default: agent.currency, otherwise EUR)")
	budget.MarkFlagsMutuallyExclusive("set", "remove")
	recurring := a.addJSONFlag(&cobra.Command{
		Use: "recurring", Short: "List rent, subscriptions and other regular payments", Args: cobra.NoArgs,
		RunE: a.runCommand(func(c *cobra.Command, _ []string) error {
			return a.runTool(c.Context(), false, "recurring_costs", map[string]any{})
		}),
	})
	receipt := a.addJSONFlag(&cobra.Command{
		Use: "receipt FILE", Short: "Read a receipt: a photo, a PDF or a text", Args: cobra.ExactArgs(1),
		RunE: a.runCommand(func(c *cobra.Command, args []string) error {
			in := changedFlags(c, "log", "category", "date", "currency")
			if c.Flags().Changed("total") {
				total, err := numberFlag(c, "total")
				if err != nil {
					return err
				}
				in["total"] = total
			}
			return a.runOnFile(c, "parse_receipt", args[0], in)
		}),
	})
	receipt.Flags().Bool("log", false, "log the total as an expense")
	receipt.Flags().String("category", "", "category of the expense")
	receipt.Flags().String("date", "", "day, if the receipt leaves it open")
	receipt.Flags().String("total", "", "total, if the receipt leaves it open")
	receipt.Flags().String("currency", "", "ISO code, if the receipt leaves it open")
	load := a.addJSONFlag(&cobra.Command{
		Use: "import FILE", Short: "Import the spending in a bank's CSV, OFX or QIF file", Args: cobra.ExactArgs(1),
		RunE: a.runCommand(func(c *cobra.Command, args []string) error {
			in := changedFlags(c, "account", "currency", "category", "spending", "encoding")
			if order := changedFlags(c, "date-order"); len(order) > 0 {
				in["date_order"] = order["date-order"]
			}
			return a.runOnFile(c, "import_expenses", args[0], in)
		}),
	})
	load.Flags().String("account", "", "name of the account, if several have equal transactions")
	load.Flags().String("currency", "", "currency of amounts without one")
	load.Flags().String("category", "", "category of new vendors (default: other)")
	load.Flags().String("date-order", "", "dmy or mdy, if the file leaves it open")
	load.Flags().String("spending", "", "negative or positive, if the file leaves it open")
	load.Flags().String("encoding", "", "encoding, for example windows-1257")
	return []*cobra.Command{budget, recurring, receipt, load}
}

// habitCmds returns the commands of `hob habit` for reports, targets and files.
func (a *cli) habitCmds() []*cobra.Command {
	report := a.addJSONFlag(&cobra.Command{
		Use: "report [HABIT...]", Short: "Report on habits, with a calendar as a picture",
		RunE: a.runCommand(func(c *cobra.Command, args []string) error {
			in := changedFlags(c, "period", "chart")
			in["habit"] = joinWords(args)
			return a.runTool(c.Context(), false, "habit_report", in)
		}),
	})
	report.Flags().String("period", "", "this_week, last_month, 2026-03 or all (default: this_month)")
	report.Flags().String("chart", "", "calendar, bar, line or none (default: calendar)")
	target := a.addJSONFlag(&cobra.Command{
		Use: "target HABIT...", Short: "Set a target for a habit", Args: cobra.MinimumNArgs(1),
		RunE: a.runCommand(func(c *cobra.Command, args []string) error {
			in := changedFlags(c, "unit", "period", "remind")
			goal, err := numberFlag(c, "goal")
			if err != nil {
				return err
			}
			in["habit"], in["goal"] = joinWords(args), goal
			return a.runTool(c.Context(), false, "set_habit_target", in)
		}),
	})
	target.Flags().String("goal", "", "number of days, or amount of the unit; 0 removes the target")
	target.Flags().String("unit", "", "unit of the goal: minutes, km (default: days)")
	target.Flags().String("period", "", "day, week or month (default: week)")
	target.Flags().String("remind", "", "time of a daily reminder, for example 20:00")
	_ = target.MarkFlagRequired("goal")
	load := a.addJSONFlag(&cobra.Command{
		Use: "import FILE", Short: "Import habits from a CSV file", Args: cobra.ExactArgs(1),
		RunE: a.runCommand(func(c *cobra.Command, args []string) error {
			in := changedFlags(c, "habit")
			if order := changedFlags(c, "date-order"); len(order) > 0 {
				in["date_order"] = order["date-order"]
			}
			return a.runOnFile(c, "import_habits", args[0], in)
		}),
	})
	load.Flags().String("habit", "", "name of the habit, if the file does not name it")
	load.Flags().String("date-order", "", "dmy or mdy, if the file leaves it open")
	return []*cobra.Command{report, target, load}
}

// runOnFile runs a tool with the absolute path of a file, because the daemon has a different working
// folder.
func (a *cli) runOnFile(c *cobra.Command, tool, path string, in map[string]any) error {
	if !strings.HasPrefix(path, "~") {
		abs, err := filepath.Abs(path)
		if err != nil {
			return err
		}
		path = abs
	}
	in["path"] = path
	return a.runTool(c.Context(), false, tool, in)
}

// numberFlag returns the exact number in a flag.
func numberFlag(c *cobra.Command, name string) (json.Number, error) {
	value := c.Flag(name).Value.String()
	var n json.Number
	if err := json.Unmarshal([]byte(value), &n); err != nil || n == "" {
		return "", &failure{code: exitUsage, cause: fmt.Sprintf("--%s %q is not a number", name, clipTo(value, 60)), remedy: "write a number such as 12.50"}
	}
	return n, nil
}
