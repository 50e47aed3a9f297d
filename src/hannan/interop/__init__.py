"""Adapters for other libraries: `hannan.interop.river`, `.sktime`, `.gym`. They require the extra [interop]."""
