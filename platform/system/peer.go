package system

// Marker is the variable in the environment of processes that Hob lets act by
// themselves, such as external agents: their descendants carry it on, also those
// that leave their parent. It holds no secret.
const Marker = "STARTED_BY_HOB"

// ClientBelow reports whether the client of a loopback connection, named by its
// address as the server sees it, is one of the processes roots, descends from
// one, or carries the Marker. It is there on Linux alone; elsewhere the error
// wraps errors.ErrUnsupported. A client that has closed its end meanwhile is an
// error, too: it may be anybody. A process that does all it can to hide its origin
// is not found: this stops mistakes and injected commands, not a determined
// enemy who runs as the same user.
func ClientBelow(client string, roots []int) (bool, error) { return clientBelow(client, roots) }
