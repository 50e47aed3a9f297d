"""Our players under other libraries' names: `hannan.interop.river`, `.sktime`, `.gym`. Needs the extra [interop]."""
