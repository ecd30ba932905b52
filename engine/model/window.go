package model

// Tokens estimates how many tokens of a model's window the request takes, the
// reply not included. It errs on the large side for code and prose alike, since a
// prompt over the window is lost work.
func (r Request) Tokens() int { return int(tokens(r.bytes())) }
