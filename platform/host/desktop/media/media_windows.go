package media

func newBackend(o Options) backend { return windowsBackend{o.Scripts} }
