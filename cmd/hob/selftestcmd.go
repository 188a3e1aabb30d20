package main

import (
	"bufio"
	"context"
	"fmt"
	"runtime"
	"strings"

	"github.com/spf13/cobra"

	"hob/platform/host/abilities"
	"hob/platform/host/system"
	"hob/platform/host/vault"
)

// selftestCmd tests what Hob can do on this machine. It needs no daemon and changes no data.
func (a *cli) selftestCmd() *cobra.Command {
	var yes, dry bool
	cmd := a.addJSONFlag(&cobra.Command{
		Use: "selftest", Short: "Test what Hob can do on this machine", Args: cobra.NoArgs,
		RunE: a.runCommand(func(c *cobra.Command, _ []string) error {
			return a.runSelftest(c.Context(), yes, dry)
		}),
	})
	cmd.Flags().BoolVar(&yes, "yes", false, "try everything without asking")
	cmd.Flags().BoolVar(&dry, "dry", false, "skip tests that show, speak or store something or may open a dialog")
	cmd.MarkFlagsMutuallyExclusive("yes", "dry")
	return cmd
}

func (a *cli) runSelftest(ctx context.Context, yes, dry bool) error {
	if _, terminal := terminalFD(a.in); !terminal && !yes && !dry {
		return usageErrorf("the questions need a terminal; add --yes to try everything, or --dry to skip tests that show, speak or store something")
	}
	p, err := system.DefaultPaths()
	if err != nil {
		return err
	}
	c, running, err := a.dialDaemon(ctx, p)
	pid := 0
	if running && err == nil {
		pid = c.pid
	}
	fmt.Fprintf(a.err, "Hob %s on %s/%s. The table contains none of your data, names or paths.\n", a.version, runtime.GOOS, runtime.GOARCH)
	o := abilities.Options{Paths: p, Secrets: vault.SecretsFor(p), Pid: pid, Allow: func(abilities.Ability) bool { return yes }}
	if !yes && !dry {
		in := bufio.NewReader(a.in)
		o.Allow = func(x abilities.Ability) bool { return a.allowTry(in, x) }
	}
	var rows []abilities.Row
	if !a.asJSON {
		fmt.Fprintf(a.out, "%-16s  %-28s  %-8s  %6s  %s\n", "ABILITY", "MECHANISM", "RESULT", "MS", "DETAIL")
		o.Each = a.printTry
	}
	if rows = abilities.Run(ctx, o); ctx.Err() != nil {
		return ctx.Err()
	}
	if a.asJSON {
		return a.printJSON(rows)
	}
	return nil
}

func (a *cli) printTry(r abilities.Row) {
	detail := r.Detail
	if r.Remedy != "" {
		detail = strings.TrimSpace(detail + "; " + r.Remedy)
	}
	fmt.Fprintf(a.out, "%-16s  %-28s  %-8s  %6d  %s\n", r.Ability, r.Mechanism, r.Result, r.Time, sanitizePrintable(detail))
}

// allowTry asks once whether an ability may be tried. Any answer other than yes or an empty line
// means no.
func (a *cli) allowTry(in *bufio.Reader, x abilities.Ability) bool {
	fmt.Fprintf(a.err, "Try %s (%s)? [Y/n] ", x.Name, strings.TrimSpace(x.Effect+" "+x.Asks))
	line, err := in.ReadString('\n')
	answer := strings.ToLower(strings.TrimSpace(line))
	return err == nil && (answer == "" || answer == "y" || answer == "yes")
}
