package command

import "testing"

// Known attempts to bypass the table: arguments that are read from a file, and recursive searches
// with another spelling of the option.
func TestTable_Bypasses(t *testing.T) {
	onUnix(t)
	b := newBench(t, func(o *Options) { o.Allowed = append(o.Allowed, o.Home) })
	b.putFile(t, "Documents/args.txt", "/etc/passwd\n")
	b.putFile(t, ".netrc", "machine x password y\n")
	b.putFile(t, "Documents/empty/x", "")
	for _, text := range []string{
		"strings @args.txt", "strings -a @args.txt", "strings -n 4 @Documents/args.txt",
		"grep -d recurse x ~", "grep -drecurse x ~", "grep -ndrecurse x ~", "grep -rs x ~", "egrep -d recurse x ~",
		"diff -N ~ ~/Documents/empty", "diff --new-file ~ ~/Documents/empty", "diff -uN ~/Documents/empty ~", "ls --recursive ~", "ls -laR ~", "du -a ~", "tree -a ~", "rg --hidden x ~", "find ~ -name x",
	} {
		if v := b.judgeText(text); v.Listed {
			t.Errorf("%q is listed: %+v", text, v.Plan.Lines)
		}
	}
}
