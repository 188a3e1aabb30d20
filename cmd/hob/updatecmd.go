package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"hob/platform/host/vault"
	"hob/platform/net/release"
)

func (a *cli) updateCmd() *cobra.Command {
	var check bool
	c := a.addJSONFlag(&cobra.Command{
		Use: "update", Short: "Check for a newer version", Args: cobra.NoArgs,
		RunE: a.runCommand(func(c *cobra.Command, _ []string) error {
			if !check {
				return &failure{code: exitUsage, cause: "Hob cannot update itself", remedy: "check for a newer version and how to get it: hob update --check"}
			}
			return a.runUpdate(c.Context())
		}),
	})
	c.Flags().BoolVar(&check, "check", false, "only check (the command does nothing else)")
	return c
}

func (a *cli) runUpdate(ctx context.Context) error {
	p, cfg, err := a.loadHome()
	if err != nil {
		return err
	}
	n, err := cfg.Network.Client(ctx, vault.SecretsFor(p))
	if err != nil {
		return err
	}
	r, err := release.Checker{
		Built: a.release, Configured: release.Source{URL: cfg.Update.URL, Key: cfg.Update.Key}, Network: n, File: p.UpdateFile(), Version: a.version,
	}.Check(ctx, time.Now())
	switch {
	case errors.Is(err, release.ErrNoSource):
		return &failure{code: exitFailed, cause: err.Error(), remedy: "see docs/packaging.md; or set them: hob config set update.url https://… and hob config set update.key RW…"}
	case release.Refused(err):
		return &failure{code: exitFailed, cause: err.Error(), remedy: "do not install that version; if this lasts for days, report it to the project"}
	case err != nil:
		return &failure{code: exitFailed, cause: err.Error(), remedy: "try again later"}
	}
	if a.asJSON {
		err = a.printJSON(r)
	} else {
		a.showUpdate(r)
	}
	if err == nil && (r.Newer || !r.Known) {
		return errNewer
	}
	return err
}

// errNewer ends the command with exitNewer; the command has already printed the result.
var errNewer = errors.New("a newer version is available")

func (a *cli) showUpdate(r release.Result) {
	switch {
	case r.Newer:
		fmt.Fprintf(a.out, "Hob %s is available (%s); this is %s.\n", r.Latest, r.Released.Format(time.DateOnly), sanitizePrintable(r.Current))
	case !r.Known:
		fmt.Fprintf(a.out, "The newest version is %s (%s). This program, %s, is not a release and cannot be compared.\n", r.Latest, r.Released.Format(time.DateOnly), sanitizePrintable(r.Current))
	default:
		fmt.Fprintf(a.out, "Hob %s is the newest version.\n", r.Latest)
		return
	}
	if r.Notes != "" {
		fmt.Fprintf(a.out, "\n  %s\n", strings.ReplaceAll(r.Notes, "\n", "\n  "))
	}
	if r.Page != "" {
		fmt.Fprintf(a.out, "\nMore: %s\n", r.Page)
	}
	fmt.Fprintf(a.out, "\nTo get it (installed by: %s):\n", r.Kind)
	for _, s := range r.Steps {
		fmt.Fprintf(a.out, "  %s\n", s)
	}
}
