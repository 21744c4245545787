(unchanged);

