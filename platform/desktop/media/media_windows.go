package media

func newBackend(o Options) backend { return win{o.Scripts} }
