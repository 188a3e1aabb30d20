package autonomy_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// waysOut lists the functions with which a program accesses the network or resolves names. A DNS
// lookup alone sends the name to the servers of its domain.
func waysOut() map[string][]string {
	return map[string][]string{
		"net": {
			"Dial", "DialTimeout", "DialTCP", "DialUDP", "DialIP", "DialUnix", "Dialer", "Resolver", "DefaultResolver",
			"LookupAddr", "LookupCNAME", "LookupHost", "LookupIP", "LookupMX", "LookupNS", "LookupPort", "LookupSRV", "LookupTXT",
			"ResolveIPAddr", "ResolveTCPAddr", "ResolveUDPAddr",
		},
		"net/http":   {"Client", "Transport", "DefaultClient", "DefaultTransport", "Get", "Head", "Post", "PostForm", "ProxyFromEnvironment"},
		"crypto/tls": {"Dial", "DialWithDialer", "Dialer", "Client"},
		"net/smtp":   {"Dial", "SendMail", "NewClient"},
		"net/rpc":    {"Dial", "DialHTTP"},
	}
}

// mayGoOut lists the files that may create connections, and why text from outside cannot change
// their targets. Requests to an address from a model, a page or a message use
// platform/net/safehttp, and are not on this list.
func mayGoOut() map[string]string {
	return map[string]string{
		"autonomy/llm/watch.go":                       "to the model servers that the owner configured",
		"channels/web/inprocess.go":                   "to Hob itself, without a network",
		"cmd/hob/connect.go":                          "to the daemon on this machine",
		"platform/pim/account.go":                     "to the mail and calendar servers that the owner configured",
		"platform/pim/caldav/caldav.go":               "the same, over HTTPS; another host only of the same domain",
		"platform/pim/imapmail/mailbox.go":            "the same, encrypting a connection that is there",
		"platform/pim/smtpmail/outgoing.go":           "the same",
		"cmd/hob/internal/bench/home.go":              "to a daemon that the measurement started itself",
		"cmd/hob/accountcmd.go":                       "to the machine's name server, about the domain of the owner's address",
		"cmd/hob/setupcmd.go":                         "the same",
		"cmd/hob/internal/app/service.go":             "the same, for an account that the owner enters on the page",
		"cmd/hob/internal/doctor/leftovers.go":        "to sockets in Hob's own folder of this machine, to see whether anybody listens",
		"cmd/hob/internal/simulate/model.go":          "the script's answers, or outside.go",
		"cmd/hob/internal/simulate/outside.go":        "to the model servers that the owner configured, when he asks for them; else nowhere",
		"platform/host/desktop/swayipc/conn_linux.go": "to the compositor of this session",
		"platform/host/desktop/xwin/conn_linux.go":    "to the display of this machine",
	}
}

// isTypeOnly reports whether an expression only names a type, such as the type of a field, and
// creates no value of it.
func isTypeOnly(pkg, name string, parents []ast.Node) bool {
	if pkg != "net/http" || name != "Client" && name != "Transport" {
		return false
	}
	if _, star := parents[len(parents)-1].(*ast.StarExpr); !star {
		return false // a literal, or a value
	}
	call, is := parents[max(0, len(parents)-2)].(*ast.CallExpr)
	return !is || len(call.Args) == 0 // not new(http.Client) or a conversion
}

// TestNetwork_OnlyListedPackagesConnect checks that only the listed packages open connections, so that a new tool
// cannot forget to check the target.
func TestNetwork_OnlyListedPackagesConnect(t *testing.T) {
	used := map[string]bool{}
	eachFile(t, func(name string, file *ast.File, pos *token.FileSet) {
		imports := importsOf(file)
		if imports["."] != "" {
			t.Errorf("%s uses a dot import of %s", name, imports["."])
		}
		visitNodes(file, func(n ast.Node, parents []ast.Node) {
			sel, ok := n.(*ast.SelectorExpr)
			if !ok {
				return
			}
			id, ok := sel.X.(*ast.Ident)
			if !ok || !slices.Contains(waysOut()[imports[id.Name]], sel.Sel.Name) || isTypeOnly(imports[id.Name], sel.Sel.Name, parents) {
				return
			}
			if _, may := mayGoOut()[name]; may {
				used[name] = true
				return
			}
			t.Errorf("%s uses %s.%s; connect through platform/net/safehttp instead", pos.Position(n.Pos()), id.Name, sel.Sel.Name)
		})
	})
	for name := range mayGoOut() {
		if !used[name] {
			t.Errorf("%s is allowed to access the network but does not", name)
		}
	}
}

// playsTheWeb is the file that simulates the web for a simulation, which has no access to the real
// web.
const playsTheWeb = "cmd/hob/internal/simulate/world.go"

// TestNetwork_OnlyTestsReplaceTheDialer checks that only tests and the simulation replace the resolver and the
// dialer of platform/net/safehttp.
func TestNetwork_OnlyTestsReplaceTheDialer(t *testing.T) {
	eachFile(t, func(name string, file *ast.File, pos *token.FileSet) {
		if name == playsTheWeb || !slices.Contains(slices.Collect(mapsValues(importsOf(file))), "hob/platform/net/safehttp") {
			return
		}
		visitNodes(file, func(n ast.Node, _ []ast.Node) {
			var field *ast.Ident
			switch n := n.(type) {
			case *ast.KeyValueExpr:
				field, _ = n.Key.(*ast.Ident)
			case *ast.SelectorExpr:
				field = n.Sel
			}
			if field != nil && slices.Contains([]string{"Resolver", "Dial", "RootCAs", "Interfaces"}, field.Name) {
				t.Errorf("%s sets or reads %s, which is reserved for tests", pos.Position(n.Pos()), field.Name)
			}
		})
	})
}

func mapsValues(m map[string]string) func(func(string) bool) {
	return func(yield func(string) bool) {
		for _, v := range m {
			if !yield(v) {
				return
			}
		}
	}
}

// eachFile calls do for each file of the program, except tests, packages of test helpers, and the
// package that may access the network.
func eachFile(t *testing.T, do func(name string, file *ast.File, pos *token.FileSet)) {
	t.Helper()
	err := filepath.WalkDir("..", func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name := filepath.ToSlash(strings.TrimPrefix(p, ".."+string(filepath.Separator)))
		if d.IsDir() {
			base := d.Name()
			if p != ".." && (strings.HasPrefix(base, ".") || base == "testdata" || base == "bin" || strings.HasSuffix(base, "test") || name == "platform/net/safehttp") {
				return filepath.SkipDir
			}
			return nil
		}
		if !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") {
			return nil
		}
		pos := token.NewFileSet()
		file, err := parser.ParseFile(pos, p, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		do(name, file, pos)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// importsOf maps the names in a file to the imported packages.
func importsOf(file *ast.File) map[string]string {
	out := map[string]string{}
	for _, i := range file.Imports {
		p, err := strconv.Unquote(i.Path.Value)
		if err != nil {
			continue
		}
		name := path.Base(p)
		if i.Name != nil {
			name = i.Name.Name
		}
		out[name] = p
	}
	return out
}

// visitNodes calls f for each node with its ancestors, the nearest one last.
func visitNodes(root ast.Node, f func(n ast.Node, parents []ast.Node)) {
	var stack []ast.Node
	ast.Inspect(root, func(n ast.Node) bool {
		if n == nil {
			stack = stack[:len(stack)-1]
			return true
		}
		if len(stack) > 0 {
			f(n, stack)
		}
		stack = append(stack, n)
		return true
	})
}
