// Command benchcompare compares the performance of two builds of Hob. `make bench-compare BASE=ref`
// runs it; docs/performance.md explains the output.
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"math"
	"os"
	"os/exec"
	"slices"
	"text/tabwriter"

	"hob/cmd/hob/internal/bench"
)

// comparison holds the values of one figure, one per round and build.
type comparison struct {
	bench.Figure
	base, head []float64
}

func main() {
	base := flag.String("base", "", "`program` to compare with")
	head := flag.String("head", "bin/hob", "`program` to measure")
	rounds := flag.Int("rounds", 5, "runs of each program")
	flag.Parse()
	if err := run(context.Background(), os.Stdout, os.Stderr, *base, *head, *rounds, flag.Args()); err != nil {
		fmt.Fprintln(os.Stderr, "benchcompare:", err)
		os.Exit(1)
	}
}

// run measures both programs alternately, so that slow drifts of the machine affect both equally,
// and writes a table, even if a later round fails. args are passed to `hob bench`.
func run(ctx context.Context, out, progress io.Writer, base, head string, rounds int, args []string) error {
	if base == "" || rounds < 1 {
		return errors.New("the program to compare with or the number of rounds is missing; use -base PROGRAM -rounds N")
	}
	var list []*comparison
	byName := map[string]*comparison{}
	for round := range rounds {
		order := []string{base, head}
		if round%2 == 1 {
			slices.Reverse(order)
		}
		for _, program := range order {
			fmt.Fprintf(progress, "round %d of %d: %s\n", round+1, rounds, program)
			figures, err := measure(ctx, program, args)
			if err != nil {
				return errors.Join(writeTable(out, list), err)
			}
			for _, f := range figures {
				c := byName[f.Name]
				if c == nil {
					c = &comparison{Figure: f}
					byName[f.Name], list = c, append(list, c)
				}
				if program == base {
					c.base = append(c.base, f.Value)
				} else {
					c.head = append(c.head, f.Value)
				}
			}
		}
	}
	return writeTable(out, list)
}

func measure(ctx context.Context, program string, args []string) ([]bench.Figure, error) {
	cmd := exec.CommandContext(ctx, program, append([]string{"bench", "--json"}, args...)...)
	var errs bytes.Buffer
	cmd.Stderr = &errs
	raw, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("%s bench: %w: %s", program, err, bytes.TrimSpace(errs.Bytes()))
	}
	var figures []bench.Figure
	if err := json.Unmarshal(raw, &figures); err != nil {
		return nil, fmt.Errorf("%s bench: read its figures: %w", program, err)
	}
	return figures, nil
}

// writeTable writes one line per figure that both programs have: the medians, the ratio of the
// medians, and the lowest and highest ratio in a single round.
func writeTable(out io.Writer, list []*comparison) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "FIGURE\tBASE\tHEAD\tRATIO\tSPREAD\tUNIT\tBETTER")
	for _, c := range list {
		if len(c.base) == 0 || len(c.head) == 0 {
			continue
		}
		low, high := math.Inf(1), math.Inf(-1)
		for i := range min(len(c.base), len(c.head)) {
			r := ratio(c.head[i], c.base[i])
			low, high = min(low, r), max(high, r)
		}
		better := "lower"
		if c.AtLeast {
			better = "higher"
		}
		base, head := median(c.base), median(c.head)
		fmt.Fprintf(w, "%s\t%.4g\t%.4g\t%.3f\t%.3f-%.3f\t%s\t%s\n", c.Name, base, head, ratio(head, base), low, high, c.Unit, better)
	}
	return w.Flush()
}

// ratio returns head / base, or 1 if both values are 0.
func ratio(head, base float64) float64 {
	if head == base {
		return 1
	}
	return head / base
}

func median(values []float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	middle := len(sorted) / 2
	if len(sorted)%2 == 1 {
		return sorted[middle]
	}
	return (sorted[middle-1] + sorted[middle]) / 2
}
