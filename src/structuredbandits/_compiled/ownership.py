"""Arrays without reference counts, for the inner loops of kernels.

Numba counts references to every array that passes through a function, with atomic instructions.
The arrays of a kernel belong to its Python caller during the whole call, so counting is not needed,
and it would cost more than the computation itself.
"""

from __future__ import annotations

from typing import Any

from numba import types
from numba.core import cgutils
from numba.extending import intrinsic


def _unowned(typing_context: Any, value: Any) -> Any:
    """The same (nested tuple of) arrays, not counted; valid while the caller keeps them."""

    def strip(context: Any, builder: Any, kind: Any, content: Any) -> Any:
        if isinstance(kind, types.Array):
            array = cgutils.create_struct_proxy(kind)(context, builder, value=content)
            array.meminfo = cgutils.get_null_value(array.meminfo.type)
            array.parent = cgutils.get_null_value(array.parent.type)
            return array._getvalue()
        if isinstance(kind, types.BaseTuple):
            for place, part in enumerate(kind):
                inner = strip(context, builder, part, builder.extract_value(content, place))
                content = builder.insert_value(content, inner, place)
        return content

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return strip(context, builder, signature.args[0], arguments[0])

    return value(value), generate


#: Called in compiled code with one argument; Numba adds the first argument.
unowned: Any = intrinsic(_unowned)
