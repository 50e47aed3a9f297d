"""Forecasts of several experts in, one forecast with a guarantee out."""
