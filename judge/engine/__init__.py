"""A run: planned, asked, limited, paid once, resumed; answers, attacks and anchors likewise."""
