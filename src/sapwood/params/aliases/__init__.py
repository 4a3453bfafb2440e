"""Names of LightGBM, XGBoost, CatBoost and scikit-learn, and what they are called here.

One module per library has tables of its parameters, arguments of ``fit`` and ``predict``, objectives and metrics.
Error messages (``params/unknown_names.py``) and ``docs/peers.md`` are made from them.
"""
